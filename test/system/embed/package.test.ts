import { execFile } from 'node:child_process'
import { mkdtemp, mkdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { addCleanup, setUpOnce } from '../../helpers/cleanup.ts'

const run = promisify(execFile)
const SITES_FOLDER = join(PACKAGE_FOLDER, 'packages/embed/fixtures')

const read = (path: string): Promise<string> => readFile(join(PACKAGE_FOLDER, path), 'utf8')

type Packed = Readonly<{
  filename: string
  size: number
  version: string
  files: readonly { path: string }[]
}>

/** Pack the package as for the registry, and install it in an empty folder. */
async function pack(): Promise<Readonly<{ folder: string; packed: Packed }>> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-embed-'))
  addCleanup(() => rm(folder, { recursive: true, force: true }))
  const parameters = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const { stdout } = await run('npm', parameters, { cwd: join(PACKAGE_FOLDER, 'packages/embed') })
  const [packed] = Object.values(JSON.parse(stdout) as Record<string, Packed>)
  if (packed === undefined) throw new Error(`npm pack: ${stdout}`)
  const installed = join(folder, 'node_modules/@vitrine/embed')
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xf', packed.filename, '-C', installed, '--strip-components=1'], { cwd: folder })
  return { folder, packed }
}

const getPackage = setUpOnce(pack)

test('packed package - has modules, types and components, and nothing else', async () => {
  const { packed } = getPackage()
  const paths = packed.files.map(({ path }) => path)
  const others = paths.filter(
    (path) => !/^dist\/(?:types\/.+\.d\.ts|\w+\.js)$|^astro\/[\w-]+\.(?:astro|ts)$/.test(path),
  )
  expect(others.sort()).toEqual(['LICENSE', 'README.md', 'package.json'])
  expect(packed.size).toBeLessThan(12_000)
  const { version } = JSON.parse(await read('package.json')) as { version: string }
  expect(packed.version).toBe(version)
})

test('packed package - every export exists, with its types', async () => {
  const { packed } = getPackage()
  const paths = new Set(packed.files.map(({ path }) => `./${path}`))
  const { exports } = JSON.parse(await read('packages/embed/package.json')) as {
    exports: Record<string, string | Record<string, string>>
  }
  const targets = Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? target : Object.values(target),
  )
  expect(targets.length).toBeGreaterThan(5)
  expect(targets.filter((target) => !paths.has(target))).toEqual([])
})

test('packed package without frameworks - loads in Node, where no element can exist', async () => {
  const script = `
    await import('@vitrine/embed')
    const { fetchFragment } = await import('@vitrine/embed/fragment')
    console.log(JSON.stringify(await fetchFragment('deal-grid', { server: 'http://127.0.0.1:9', channel: 'c' })))`
  const parameters = ['--input-type=module', '--eval', script]
  const { stdout } = await run(process.execPath, parameters, { cwd: getPackage().folder })
  expect(stdout.trim()).toBe('""')
})

test.each(['react', 'vue'])('%s - types accept and refuse what they should', async (name) => {
  const tsc = join(PACKAGE_FOLDER, 'node_modules/typescript/bin/tsc')
  const { stdout } = await run(process.execPath, [tsc, '-p', join(SITES_FOLDER, name)])
  expect(stdout).toBe('')
})

test.each([
  ['tsx', 'react/src/example.tsx'],
  ['ts', 'react/src/fragment-example.ts'],
  ['vue', 'vue/src/Example.vue'],
  ['astro', 'astro/src/pages/example.astro'],
])('documentation, %s - is the example that its project compiles', async (language, file) => {
  const page = await read('docs/publish/components.md')
  const [, example] = page.split(`\`\`\`${language}\n`)
  expect(example?.split('\n```')[0]).toBe((await read(`packages/embed/fixtures/${file}`)).trimEnd())
})
