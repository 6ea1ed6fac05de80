import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadAssets } from '../../src/http/assets.ts'
import { BUILT_FOLDER, RELEASED_FOLDER, PACKAGE_FOLDER } from '../../src/lib/files.ts'

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-assets-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

const RELEASED = 'embed.0a1b2c3d.js'

/** Create the folders of a release: the current build, and a script of an earlier release. */
function makeReleasedFolder(): Readonly<{ built: string; released: string }> {
  const [built, released] = [makeFolder(), makeFolder()]
  cpSync(BUILT_FOLDER, built, { recursive: true })
  writeFileSync(join(released, RELEASED), 'once()')
  writeFileSync(join(released, 'notes.txt'), '')
  writeFileSync(join(built, `${RELEASED}.gz`), gzipSync('once()'))
  writeFileSync(join(built, `${RELEASED}.br`), brotliCompressSync('once()'))
  return { built, released }
}

describe('loadAssets', () => {
  const assets = loadAssets(BUILT_FOLDER)

  test.each([
    ['vitrine.css', 'text/css; charset=utf-8'],
    ['studio.css', 'text/css; charset=utf-8'],
    ['frame.js', 'text/javascript; charset=utf-8'],
    ['embed.js', 'text/javascript; charset=utf-8'],
    ['studio.js', 'text/javascript; charset=utf-8'],
  ] as const)('%s - complete, with gzip, Brotli and an integrity hash', (name, contentType) => {
    const asset = assets.get(name)
    expect(asset.path).toBe(`/assets/${asset.fileName}`)
    expect(asset.contentType).toBe(contentType)
    expect(gunzipSync(asset.bodies.gzip)).toEqual(asset.bodies.identity)
    expect(brotliDecompressSync(asset.bodies.br)).toEqual(asset.bodies.identity)
    expect(asset.integrity).toBe(
      `sha384-${createHash('sha384').update(asset.bodies.identity).digest('base64')}`,
    )
    expect(asset.etag).toMatch(/^W\/"[\w-]{22}"$/)
  })

  test('file name - current, outdated or unknown', () => {
    const asset = assets.get('vitrine.css')
    expect(assets.findByFileName(asset.fileName)).toEqual({ asset, isImmutable: true })
    expect(assets.findByFileName('vitrine.00000000.css')).toEqual({ asset, isImmutable: false })
    for (const name of [
      'vitrine.css',
      'vitrine.00000000.js',
      'other.00000000.css',
      '../manifest.json',
      '__proto__',
      '',
    ]) {
      expect(assets.findByFileName(name)).toBeUndefined()
    }
  })

  test.each([
    ['no released files', () => undefined],
    [
      'the released files of this version only',
      (released: string) => {
        for (const name of ['embed.js', 'frame.js', 'vitrine.css'] as const)
          writeFileSync(join(released, assets.get(name).fileName), assets.get(name).bodies.identity)
      },
    ],
  ])('%s - finds the current files, which stay immutable', (_name, fill) => {
    const released = makeFolder()
    fill(released)
    const loaded = loadAssets(BUILT_FOLDER, released)
    for (const name of ['embed.js', 'frame.js', 'vitrine.css', 'studio.js', 'studio.css'] as const) {
      const asset = assets.get(name)
      expect(loaded.get(name)).toEqual(asset)
      expect(loaded.findByFileName(asset.fileName)).toEqual({ asset, isImmutable: true })
    }
    expect(loaded.findByFileName('embed.00000000.js')).toEqual({
      asset: assets.get('embed.js'),
      isImmutable: false,
    })
  })

  test('released script - is found by its name and is immutable', () => {
    const { built, released } = makeReleasedFolder()
    const found = loadAssets(built, released).findByFileName(RELEASED)
    expect(found?.isImmutable).toBe(true)
    expect(found?.asset.bodies.identity.toString()).toBe('once()')
    expect(found?.asset.contentType).toBe('text/javascript; charset=utf-8')
    expect(gunzipSync(found?.asset.bodies.gzip ?? '').toString()).toBe('once()')
    expect(brotliDecompressSync(found?.asset.bodies.br ?? '').toString()).toBe('once()')
    const changed = loadAssets(built, released).findByFileName('embed.00000000.js')
    expect([changed?.isImmutable, changed?.asset.fileName]).toEqual([false, assets.get('embed.js').fileName])
  })

  test('released style sheet - is found by its name and is immutable; another old one is the current file', () => {
    const { built, released } = makeReleasedFolder()
    for (const [folder, file, body] of [
      [released, 'vitrine.0a1b2c3d.css', 'a{}'],
      [built, 'vitrine.0a1b2c3d.css.gz', gzipSync('a{}')],
      [built, 'vitrine.0a1b2c3d.css.br', brotliCompressSync('a{}')],
    ] as const)
      writeFileSync(join(folder, file), body)
    const loaded = loadAssets(built, released)
    const found = loaded.findByFileName('vitrine.0a1b2c3d.css')
    expect([found?.isImmutable, found?.asset.bodies.identity.toString()]).toEqual([true, 'a{}'])
    expect(found?.asset.contentType).toBe('text/css; charset=utf-8')
    expect(loaded.findByFileName('vitrine.00000000.css')).toMatchObject({
      isImmutable: false,
      asset: { fileName: loaded.get('vitrine.css').fileName },
    })
  })

  test.each(['gz', 'br'])(
    'missing .%s of a released script - throws and names the command that creates it',
    (ending) => {
      const { built, released } = makeReleasedFolder()
      rmSync(join(built, `${RELEASED}.${ending}`))
      expect(() => loadAssets(built, released)).toThrow(
        `Cannot read public/built/${RELEASED}.${ending}. Run "npm run build", or install the package again.`,
      )
    },
  )

  test('no build, or no file in the manifest - throws', () => {
    const empty = makeFolder()
    expect(() => loadAssets(empty)).toThrow(/manifest\.json/)
    writeFileSync(join(empty, 'manifest.json'), '{}')
    expect(() => loadAssets(empty)).toThrow(/vitrine\.css/)
  })

  test('file names - are not blocked by filter lists', () => {
    const text =
      assets.get('vitrine.css').bodies.identity.toString() + assets.get('embed.js').bodies.identity.toString()
    expect(text).not.toMatch(/\b(?:ads?|affiliate|sponsor|banner|promo|track)\b/i)
  })
})

describe('build', () => {
  test('script of an earlier release - is compressed and stays unchanged', async () => {
    const tree = makeFolder()
    for (const part of ['scripts', 'src/browser', 'public', 'package.json', 'tsconfig.json'])
      cpSync(join(PACKAGE_FOLDER, part), join(tree, part), { recursive: true })
    symlinkSync(join(PACKAGE_FOLDER, 'node_modules'), join(tree, 'node_modules'))
    writeFileSync(join(tree, 'public/released', RELEASED), 'once()')
    await promisify(execFile)(process.execPath, [join(tree, 'scripts/build.mjs'), '--page'])
    const assets = loadAssets(join(tree, 'public/built'), join(tree, 'public/released'))
    const found = assets.findByFileName(RELEASED)
    expect(gunzipSync(found?.asset.bodies.gzip ?? '').toString()).toBe('once()')
    expect(brotliDecompressSync(found?.asset.bodies.br ?? '').toString()).toBe('once()')
    expect(readdirSync(join(tree, 'public/released')).toSorted()).toEqual(
      [...readdirSync(RELEASED_FOLDER), RELEASED].toSorted(),
    )
  })

  test('three builds at once - all succeed and leave complete files', async () => {
    const run = promisify(execFile)
    const parameters = [join(PACKAGE_FOLDER, 'scripts/build.mjs'), '--page']
    const results = await Promise.all([1, 2, 3].map(async () => run(process.execPath, parameters)))
    for (const { stdout, stderr } of results) expect(stdout + stderr).toBe('')
    const manifest = JSON.parse(readFileSync(join(BUILT_FOLDER, 'manifest.json'), 'utf8')) as Record<
      string,
      { file: string; bytes: number }
    >
    for (const { file, bytes } of Object.values(manifest)) {
      expect(readFileSync(join(BUILT_FOLDER, file)).byteLength).toBe(bytes)
    }
  })
})
