import { createHash } from 'node:crypto'
import { readFile, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { build } from 'esbuild'
import { replaceFile } from './replace-file.mjs'

const ROOT_FOLDER = fileURLToPath(new URL('..', import.meta.url))
const BUILT_FOLDER = join(ROOT_FOLDER, 'public/built')
const RELEASED_FOLDER = join(ROOT_FOLDER, 'public/released')

/** Source files by the asset name of `loadAssets`. */
const SOURCES = {
  'embed.js': 'src/browser/loader.ts',
  'frame.js': 'src/browser/frame.ts',
  'studio.js': 'src/browser/studio.ts',
  'studio.css': 'public/styles/studio.css',
  'vitrine.css': 'public/styles/vitrine.css',
}

/** Keep younger files: a build that runs in parallel may refer to them. */
const OLD_FILE_GRACE_MS = 60_000

/** Compressors by file extension, at their best compression. */
const COMPRESSIONS = {
  br: (content) => promisify(brotliCompress)(content),
  gz: (content) => promisify(gzip)(content, { level: 9 }),
}

/**
 * Bundle the browser scripts and style sheets into public/built/ with a content hash in the name. Add compressed variants, also
 * of the released files. Write manifest.json last: name -> { file, integrity, bytes }. Return the content of each file by its name.
 */
export async function buildPage() {
  const [assets, released] = await Promise.all([
    Promise.all(Object.entries(SOURCES).map(bundleAsset)),
    readReleased(),
  ])
  await Promise.all(assets.map(({ file, content }) => replaceFile(join(BUILT_FOLDER, file), content)))
  // Current files can be among the released ones, under the same names.
  const contents = new Map([...released, ...assets.map(({ file, content }) => [file, content])])
  const compressed = (await Promise.all([...contents].map(compress))).flat()
  const manifest = Object.fromEntries(
    assets.map(({ name, file, content }) => [name, describe(file, content)]),
  )
  const text = `${JSON.stringify(manifest, null, 2)}\n`
  await replaceFile(join(BUILT_FOLDER, 'manifest.json'), text)
  await removeOld(contents)
  return new Map([
    ...assets.map(({ file, content }) => [file, content]),
    ...compressed,
    ['manifest.json', text],
  ])
}

async function bundleAsset([name, source]) {
  const content = await bundle(source)
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 8)
  return { name, file: name.replace('.', `.${hash}.`), content }
}

function describe(file, content) {
  const integrity = `sha384-${createHash('sha384').update(content).digest('base64')}`
  return { file, integrity, bytes: content.byteLength }
}

/** Read all released files, by file name. */
async function readReleased() {
  const files = (await readdir(RELEASED_FOLDER)).filter((file) => /\.(?:css|js)$/.test(file))
  return Promise.all(files.map(async (file) => [file, await readFile(join(RELEASED_FOLDER, file))]))
}

/** Compress at build time: best Brotli compression would slow down each start. */
async function compress([file, content]) {
  const compressions = Object.entries(COMPRESSIONS)
  return Promise.all(
    compressions.map(async ([ending, make]) => {
      const made = [`${file}.${ending}`, await make(content)]
      await replaceFile(join(BUILT_FOLDER, made[0]), made[1])
      return made
    }),
  )
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
      // Style sheets are not rewritten for older browsers, but optimizers of pages remove nested rules.
      target: source.endsWith('.css') ? 'esnext' : 'es2020',
      supported: { nesting: false },
      charset: 'utf8',
      legalComments: 'none',
      logLevel: 'silent',
    })
    // esbuild keeps the space before the value of a custom property.
    return Buffer.from(result.outputFiles[0].text.replace(/(--[\w-]+): /g, '$1:'))
  } catch (error) {
    const problems = (error.errors ?? []).map(
      ({ text, location }) => `  ${location ? `${location.file}:${location.line}: ` : ''}${text}`,
    )
    throw new Error(`${source} does not build:\n${problems.join('\n') || error.message}`, { cause: error })
  }
}

async function removeOld(current) {
  for (const file of await readdir(BUILT_FOLDER)) {
    if (current.has(file.replace(/\.(?:br|gz)$/, '')) || file === 'manifest.json') continue
    const path = join(BUILT_FOLDER, file)
    const found = await stat(path).catch(() => undefined)
    if (found && Date.now() - found.mtimeMs > OLD_FILE_GRACE_MS) await rm(path, { force: true })
  }
}
