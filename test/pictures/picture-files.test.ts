import { chmod, mkdir, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../src/clock.ts'
import { type PictureFiles, findPictureFolder, openPictureFiles } from '../../src/pictures/picture-files.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

const KILOBYTE = 1_024

type Folder = Readonly<{ path: string; clock: FakeClock; open(maxBytes?: number): Promise<PictureFiles> }>

async function makeFolder(): Promise<Folder> {
  const file = await makeCopyFile()
  addCleanup(() => file.remove())
  const path = join(file.folder, 'pictures')
  const clock = createFakeClock(NOON_MS)
  return {
    path,
    clock,
    open: (maxBytes = 100 * KILOBYTE) => openPictureFiles({ folder: path, maxBytes, clock }),
  }
}

async function sumBytes(path: string): Promise<number> {
  const names = await readdir(path)
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(path, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

const body = Buffer.alloc(10 * KILOBYTE, 7)

async function readStream(files: PictureFiles, name: string): Promise<Buffer> {
  return Buffer.concat((await (await files.open(name))?.stream.toArray()) as Buffer[])
}

test('file - written - is found with its data and body, also by another process', async () => {
  const folder = await makeFolder()
  const [files, others] = [await folder.open(), await folder.open()]
  await files.write('a', { type: 'x', etag: null, atMs: 5 }, body)
  const found = await others.find('a')
  expect(found?.meta).toEqual({ type: 'x', etag: null, atMs: 5, bytes: body.length })
  expect(found?.bodyBytes).toBe(body.length)
  expect(await readStream(others, 'a')).toEqual(body)
  expect((await others.read('a'))?.body).toEqual(body)
  expect([await files.find('b'), await files.read('b'), await files.open('b')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(await readdir(folder.path)).toEqual(['a'])
})

test.each([
  ['cut off', (bytes: Buffer) => bytes.subarray(0, -1)],
  ['longer', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('x')])],
  ['empty', () => Buffer.alloc(0)],
  ['without data', () => Buffer.alloc(9_000, 'x')],
  ['with invalid data', () => Buffer.from('{"bytes":1\nx')],
])('file that is %s - counts as missing', async (_name, change) => {
  const folder = await makeFolder()
  const files = await folder.open()
  await files.write('a', {}, body)
  await writeFile(join(folder.path, 'a'), change(await readFile(join(folder.path, 'a'))))
  expect([await files.find('a'), await files.read('a'), await files.open('a')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test('file that is replaced or deleted while it is sent - the opened version is sent to its end', async () => {
  const files = await (await makeFolder()).open()
  await files.write('a', { version: 1 }, body)
  const opened = await files.open('a')
  await files.write('a', { version: 2 }, Buffer.alloc(2 * body.length, 8))
  expect([opened?.meta['version'], opened?.bodyBytes]).toEqual([1, body.length])
  expect(Buffer.concat((await opened?.stream.toArray()) as Buffer[])).toEqual(body)
  expect((await readStream(files, 'a')).length).toBe(2 * body.length)
})

test('folder that is deleted - is created again by the next write', async () => {
  const folder = await makeFolder()
  const files = await folder.open()
  await files.write('a', {}, body)
  await rm(folder.path, { recursive: true })
  expect(await files.find('a')).toBeUndefined()
  await files.write('b', {}, body)
  expect((await files.read('b'))?.body).toEqual(body)
})

test('more files than the bound - those used longest ago are deleted, down to nine tenths', async () => {
  const folder = await makeFolder()
  const files = await folder.open()
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']) {
    await files.write(name, {}, body)
    folder.clock.advance(HOUR_MS)
  }
  await files.read('a')
  await files.find('c')
  await files.write('j', {}, body)
  expect((await readdir(folder.path)).toSorted()).toEqual(
    ['a', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].filter((name) => name !== 'd'),
  )
  expect(await sumBytes(folder.path)).toBeLessThanOrEqual(90 * KILOBYTE)
  expect(files.byteCount()).toBe(await sumBytes(folder.path))
})

test('several processes that write at once - stay near the bound together', async () => {
  const folder = await makeFolder()
  const maxBytes = 500 * KILOBYTE
  const processes = [await folder.open(maxBytes), await folder.open(maxBytes), await folder.open(maxBytes)]
  let largest = 0
  for (let index = 0; index < 100; index += 1) {
    await Promise.all(processes.map((files, number) => files.write(`${index}-${number}`, {}, body)))
    largest = Math.max(largest, await sumBytes(folder.path))
  }
  expect(largest).toBeLessThan(maxBytes + processes.length * 2 * body.length)
  expect(await sumBytes(folder.path)).toBeGreaterThan(maxBytes / 2)
})

test('folder that is too large at the start - is reduced; a smaller bound applies at once', async () => {
  const folder = await makeFolder()
  const files = await folder.open(1_000 * KILOBYTE)
  for (let index = 0; index < 20; index += 1) await files.write(String(index), {}, body)
  const smaller = await folder.open(50 * KILOBYTE)
  expect(await sumBytes(folder.path)).toBeLessThanOrEqual(45 * KILOBYTE)
  expect(smaller.byteCount()).toBe(await sumBytes(folder.path))
})

test('temporary files - of crashed processes are deleted at the next start, new ones stay', async () => {
  const folder = await makeFolder()
  const files = await folder.open()
  await files.write('a', {}, body)
  await writeFile(join(folder.path, '.new-old'), body)
  await writeFile(join(folder.path, '.new-now'), body)
  const old = new Date(NOON_MS - DAY_MS)
  await utimes(join(folder.path, '.new-old'), old, old)
  await utimes(join(folder.path, '.new-now'), new Date(NOON_MS), new Date(NOON_MS))
  await mkdir(join(folder.path, 'folder-of-somebody'))
  await folder.open()
  expect((await readdir(folder.path)).toSorted()).toEqual(['.new-now', 'a', 'folder-of-somebody'])
})

test('folder that cannot be created or written - one message that names the setting and the folder', async () => {
  const folder = await makeFolder()
  await writeFile(folder.path, 'a file')
  await expect(folder.open()).rejects.toMatchObject({
    code: 'VITRINE_CONFIG_INVALID',
    problems: [
      expect.stringMatching(/^VITRINE_PICTURES: cannot write to the folder ".*pictures" \(EEXIST\)/),
    ],
  })
})

test.runIf(process.getuid?.() !== 0)('folder without write access - is refused', async () => {
  const folder = await makeFolder()
  await mkdir(folder.path)
  await chmod(folder.path, 0o500)
  await expect(folder.open()).rejects.toMatchObject({ code: 'VITRINE_CONFIG_INVALID' })
})

test('folder of pictures - is beside the file of the copy, else in data', () => {
  expect(findPictureFolder({ kind: 'sqlite', path: '/data/vitrine.db' })).toBe('/data/pictures')
  expect(findPictureFolder({ kind: 'sqlite', path: ':memory:' })).toBe('data/pictures')
})
