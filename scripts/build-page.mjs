import { createHash } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { replaceFile } from './replace-file.mjs'

const ROOT_FOLDER = fileURLToPath(new URL('..', import.meta.url))
const BUILT_FOLDER = join(ROOT_FOLDER, 'public/built')

/** Source by the name that `loadAssets` knows the asset under. */
const SOURCES = {
  'embed.js': 'src/browser/loader.ts',
  'frame.js': 'src/browser/frame.ts',
  'studio.js': 'src/browser/studio.ts',
  'studio.css': 'public/styles/studio.css',
  'vitrine.css': 'public/styles/vitrine.css',
}

/** Old versions younger than this stay: a build that runs at the same time may just have named them. */
const KEEP_OLD_MS = 60_000

/**
 * Bundles the browser scripts and the style sheets into public/built/ with a content hash in the name, and writes
 * manifest.json last: name -> { file, integrity, bytes }.
 */
export async function buildPage() {
  const entries = await Promise.all(Object.entries(SOURCES).map(buildAsset))
  const manifest = Object.fromEntries(entries)
  await replaceFile(join(BUILT_FOLDER, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await removeOld(new Set(entries.map(([, { file }]) => file)))
}

async function buildAsset([name, source]) {
  const content = await bundle(source)
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 8)
  const file = name.replace('.', `.${hash}.`)
  await replaceFile(join(BUILT_FOLDER, file), content)
  const integrity = `sha384-${createHash('sha384').update(content).digest('base64')}`
  return [name, { file, integrity, bytes: content.byteLength }]
}

async function bundle(source) {
  try {
    const result = await build({
      absWorkingDir: ROOT_FOLDER,
      entryPoints: [source],
      bundle: true,
      minify: true,
      write: false,
      format: 'iife',
      // Style sheets are written for the browsers of the time: nothing is rewritten for older ones.
      target: source.endsWith('.css') ? 'esnext' : 'es2020',
      charset: 'utf8',
      legalComments: 'none',
      logLevel: 'silent',
    })
    return Buffer.from(result.outputFiles[0].contents)
  } catch (error) {
    const problems = (error.errors ?? []).map(
      ({ text, location }) => `  ${location ? `${location.file}:${location.line}: ` : ''}${text}`,
    )
    throw new Error(`${source} does not build:\n${problems.join('\n') || error.message}`, { cause: error })
  }
}

async function removeOld(current) {
  for (const file of await readdir(BUILT_FOLDER)) {
    if (current.has(file) || file === 'manifest.json') continue
    const path = join(BUILT_FOLDER, file)
    const found = await stat(path).catch(() => undefined)
    if (found && Date.now() - found.mtimeMs > KEEP_OLD_MS) await rm(path, { force: true })
  }
}
