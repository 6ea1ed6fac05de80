import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, vi } from 'vitest'
import { PACKAGE_FOLDER, VERSION } from '../../src/lib/files.ts'
import { makeFolder } from '../cli/run-cli.ts'
import { addCleanup, setUpOnce } from '../helpers/cleanup.ts'
import { killGroup } from './kill-group.ts'

const execute = promisify(execFile)

/** Limit of an installation without optional packages. */
const MAX_INSTALLED_BYTES = 40_000_000

/** Files occupy whole blocks. */
const BLOCK_BYTES = 4_096

/** What `npm pack --json` prints about a package. */
type Packed = Readonly<{ filename: string; files: readonly Readonly<{ path: string }>[] }>

/** Pack the built package, as `npm publish` does after its build. */
async function pack() {
  const folder = makeFolder()
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const { stdout } = await execute('npm', args, { cwd: PACKAGE_FOLDER, maxBuffer: 2 ** 24 })
  const [packed] = JSON.parse(stdout) as Packed[]
  return { file: join(folder, packed?.filename ?? ''), paths: packed?.files.map(({ path }) => path) ?? [] }
}

const readManifest = () =>
  JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8')) as Record<
    'dependencies' | 'optionalDependencies',
    Record<string, string>
  >

/** Read version and checksum of each package in a lock file, by its folder. */
function readPins(path: string): Readonly<Record<string, string>> {
  const { packages } = JSON.parse(readFileSync(path, 'utf8')) as Readonly<{
    packages: Readonly<Record<string, Readonly<{ version: string; integrity: string }>>>
  }>
  return Object.fromEntries(
    Object.entries(packages).map(([name, { version, integrity }]) => [name, `${version} ${integrity}`]),
  )
}

async function install(folder: string, file: string, ...options: readonly string[]): Promise<void> {
  await execute('npm', ['install', '--prefer-offline', '--ignore-scripts', ...options, file], { cwd: folder })
}

function sumFileSizes(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).size)
    .reduce((sum, bytes) => sum + Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES, 0)
}

describe('the npm package', () => {
  const getPackage = setUpOnce(pack)

  it('files - are what a user needs, without tests, benchmarks, sources and source maps', () => {
    const { paths } = getPackage()
    const folders = new Set(paths.map((path) => path.replace(/[^/]+$/, '').split('/')[0]))
    expect(folders).toEqual(new Set(['', 'deploy', 'dist', 'docs', 'integrations', 'public', 'views']))
    const unwanted =
      /\.map$|\.test\.|^dist\/(?:.*(?<!\.d)\.ts$|\.)|\.tmp$|^docs\/(?:contribute|images)|\.png$/
    expect(paths.filter((path) => unwanted.test(path))).toEqual([])
    const expected = [
      'LICENSE',
      'dist/widgets/json-types.d.ts',
      'README.md',
      'CHANGELOG.md',
      'compose.yaml',
      '.env.example',
      'dist/bin.js',
      'dist/packages/LICENSES.txt',
      'deploy/sub-ids.json',
      'deploy/systemd/vitrine.service',
      'deploy/compose/Dockerfile',
      'dist/package-lock.json',
      'docs/operate/configuration.md',
    ]
    expect(paths).toEqual(expect.arrayContaining(expected))
  })

  it('files - are as recorded, besides own modules', async () => {
    const paths = getPackage()
      .paths.filter((path) => !/^dist\/(?!packages\/|bin\.).*\.js$/.test(path))
      .map((path) =>
        path
          .replace(/(?<=[.-])(?:[\da-f]{8}|[\dA-Z]{8})(?=\.)/, '{digest}')
          .replace(/-\d+\.webp$/, '-{n}.webp'),
      )
    const text = [...new Set(paths)].toSorted().join('\n')
    await expect(`${text}\n`).toMatchFileSnapshot('package-files.txt')
  })

  it('packages that the server imports - are dependencies', () => {
    const scripts = getPackage().paths.filter((path) => /^dist\/(?!packages\/).*\.js$/.test(path))
    const texts = scripts.map((path) => readFileSync(join(PACKAGE_FOLDER, path), 'utf8')).join('\n')
    const imports = [
      ...texts.matchAll(/(?:from ?|import\(|require\d*\(import\.meta\.url\)\()["']([a-z@][\w/@.-]*)["']/g),
    ]
    const names = new Set(imports.map(([, name]) => name ?? ''))
    const { dependencies, optionalDependencies } = readManifest()
    expect(names).toContain('pg')
    expect(names).toContain('sharp')
    const installed = Object.keys({ ...dependencies, ...optionalDependencies })
    expect([...names].filter((name) => !isBuiltin(name) && !installed.includes(name))).toEqual([])
  })

  it('bill of materials - has the dependencies with their own, and the bundled packages, but no other', async () => {
    const { stdout } = await execute(process.execPath, ['scripts/sbom.mjs'], {
      cwd: PACKAGE_FOLDER,
      maxBuffer: 2 ** 24,
    })
    const { metadata, components } = JSON.parse(stdout) as Readonly<{
      metadata: Readonly<{ component: Readonly<{ name: string }> }>
      components: readonly Readonly<{ name: string }>[]
    }>
    const names = components.map(({ name }) => name)
    expect(metadata.component.name).toBe('vitrine')
    const { dependencies, optionalDependencies } = readManifest()
    expect(names).toEqual(expect.arrayContaining(Object.keys({ ...dependencies, ...optionalDependencies })))
    const licences = readFileSync(join(PACKAGE_FOLDER, 'dist/packages/LICENSES.txt'), 'utf8')
    const bundled = licences.split(`${'-'.repeat(80)}\n\n`).map((text) => text.split(' ')[0])
    expect(bundled).toEqual(expect.arrayContaining(['kysely', 'prom-client', 'zod', '@opentelemetry/core']))
    expect(names).toEqual(expect.arrayContaining(bundled))
    // Required only by others: by pg, and by sharp.
    expect(names).toEqual(expect.arrayContaining(['pg-protocol', 'semver']))
    for (const name of ['vitest', 'typescript', 'esbuild', 'react']) expect(names).not.toContain(name)
  })

  it('an installation without optional packages - is smaller than 40 MB', async () => {
    const folder = makeFolder()
    await install(folder, getPackage().file, '--omit=optional')
    expect(sumFileSizes(join(folder, 'node_modules'))).toBeLessThan(MAX_INSTALLED_BYTES)
    expect(existsSync(join(folder, 'node_modules/express'))).toBe(true)
  })

  it('the image of vitrine init, built from the package - has exactly the packages of the lock file', async () => {
    const { file } = getPackage()
    const folder = makeFolder()
    const text = readFileSync(join(PACKAGE_FOLDER, 'deploy/compose/Dockerfile'), 'utf8')
    const command = /^RUN (npm pack (?:.*\\\n)*.*)$/m.exec(text)?.[1] ?? ''
    expect(command).toContain('vitrine@${VITRINE_VERSION} ')
    // The package is not on the registry, and the cache of this machine stays.
    const npm = `npm() { if [ "$1" = pack ]; then cp '${file}' .; else command npm "$@" --prefer-offline; fi; }`
    await execute('sh', ['-c', `set -e\n${npm}\n${command.replace(' /root/.npm', '')}`], { cwd: folder })
    const locked = readPins(join(PACKAGE_FOLDER, 'package-lock.json'))
    const installed = readPins(join(folder, 'node_modules/.package-lock.json'))
    expect(Object.keys(installed).length).toBeGreaterThan(80)
    expect(locked).toMatchObject(installed)
    const { stdout } = await execute(process.execPath, ['dist/main.js', '--version'], { cwd: folder })
    expect(stdout.trim()).toBe(VERSION)
  })

  it('npx vitrine serve - in an empty folder - shows a box, and keeps its data there', async () => {
    const installation = makeFolder()
    await install(installation, getPackage().file)
    const folder = join(installation, 'empty')
    mkdirSync(folder)
    // oxlint-disable-next-line node/no-process-env -- npm's, not settings
    const env = { ...process.env, VITRINE_PORT: '0' }
    const args = ['--prefix', installation, '--no-install', 'vitrine', 'serve', '--json']
    const child = spawn('npx', args, { cwd: folder, env, detached: true })
    addCleanup(() => killGroup(child))
    let output = ''
    child.stdout.on('data', (chunk) => (output += String(chunk)))
    child.stderr.on('data', (chunk) => (output += String(chunk)))
    // Match the closing quote, because the line may arrive in parts.
    const findBox = (): string => /http[^"\s]+where-to-buy[^"\s]+(?=")/.exec(output)?.[0] ?? ''
    await vi.waitFor(() => expect(findBox(), output).not.toBe(''))
    const response = await fetch(findBox())
    expect([response.status, response.headers.get('vitrine-state')]).toEqual([200, 'shown'])
    expect(readdirSync(join(folder, 'data'))).toContain('vitrine.db')
    expect(existsSync(join(installation, 'node_modules/vitrine/data'))).toBe(false)
  })
})
