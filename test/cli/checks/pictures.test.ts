import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder, runInProcess, startRemoteCatalog } from '../run-cli.ts'

async function startWithPictures(folder: string) {
  const { settings } = await startRemoteCatalog(folder)
  return { ...settings, VITRINE_PICTURES: 'proxy' }
}

test('check - folder of pictures that can be written - is created, and reported with the package', async () => {
  const folder = makeFolder()
  const { code, out } = await runInProcess(['check'], await startWithPictures(folder))
  expect(out).toContain(`good   pictures: resized, and served from "${join(folder, 'pictures')}"`)
  expect([code, existsSync(join(folder, 'pictures'))]).toEqual([0, true])
})

test('check - folder of pictures that cannot be written - is wrong, with its remedy', async () => {
  const folder = makeFolder()
  writeFileSync(join(folder, 'pictures'), 'a file')
  const { code, out } = await runInProcess(['check'], await startWithPictures(folder))
  expect(out).toContain(`WRONG  pictures: cannot write to the folder "${join(folder, 'pictures')}"`)
  expect(code).toBe(1)
})

test('check - pictures from the shops - needs no folder', async () => {
  const folder = makeFolder()
  const { out } = await runInProcess(['check'], (await startRemoteCatalog(folder)).settings)
  expect(out).not.toContain('pictures')
  expect(existsSync(join(folder, 'pictures'))).toBe(false)
})

test('serve - folder of pictures that cannot be written - exit code 78 and one message', async () => {
  const folder = makeFolder()
  writeFileSync(join(folder, 'pictures'), 'a file')
  const { code, err } = await runInProcess(['serve'], await startWithPictures(folder))
  expect(code).toBe(78)
  expect(err).toMatch(
    /VITRINE_PICTURES: cannot write to the folder ".*pictures" \(EEXIST\); give the server's user write access/,
  )
})
