import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'

/** What `npm run build` makes for browsers. */
export type AssetName = 'vitrine.css' | 'frame.js' | 'embed.js' | 'studio.js' | 'studio.css'

/** One built file, whole and in memory. */
export type Asset = Readonly<{
  /** With the content hash: `vitrine.3f9a1c2b.css`. */
  fileName: string
  /** Below the server's address: `/assets/vitrine.3f9a1c2b.css`. */
  path: string
  contentType: string
  body: Buffer
  gzip: Buffer
  brotli: Buffer
  /** Strong, quotes included, of the uncompressed bytes; a compressed answer needs one of its own. */
  etag: string
  /** For `integrity=`: `sha384-…`. */
  integrity: string
}>

/** The built files by name and by file name. */
export type Assets = Readonly<{
  get(name: AssetName): Asset
  /**
   * The file of a request. A name whose hash is not (or no longer) ours finds the current file with `isCurrent`
   * false: it must be short-lived in caches. `undefined` for a name that never was.
   */
  findByFile(fileName: string): Readonly<{ asset: Asset; isCurrent: boolean }> | undefined
}>

const NAMES: readonly AssetName[] = ['vitrine.css', 'frame.js', 'embed.js', 'studio.js', 'studio.css']

const CONTENT_TYPES = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' } as const

const HASHED_NAME = /^([a-z]+)\.[0-9a-f]{8}\.(css|js)$/

type Manifest = Readonly<Record<string, Readonly<{ file: string; integrity: string }> | undefined>>

/** Reads and compresses every built file once. Throws (no such file) when `npm run build` has not run. */
export function loadAssets(builtFolder: string): Assets {
  const manifest = JSON.parse(readFileSync(join(builtFolder, 'manifest.json'), 'utf8')) as Manifest
  const assets = new Map<string, Asset>(NAMES.map((name) => [name, loadAsset(builtFolder, name, manifest)]))

  const find = (fileName: string): Asset | undefined => {
    const [, stem, ending] = HASHED_NAME.exec(fileName) ?? []
    return assets.get(`${stem}.${ending}`)
  }
  return {
    get: (name) => assets.get(name) as Asset,
    findByFile(fileName) {
      const asset = find(fileName)
      return asset && { asset, isCurrent: asset.fileName === fileName }
    },
  }
}

function loadAsset(builtFolder: string, name: AssetName, manifest: Manifest): Asset {
  const { file, integrity } = manifest[name] ?? { file: name, integrity: '' }
  const body = readFileSync(join(builtFolder, file))
  return {
    fileName: file,
    path: `/assets/${file}`,
    contentType: CONTENT_TYPES[name.endsWith('.css') ? 'css' : 'js'],
    body,
    gzip: gzipSync(body, { level: 9 }),
    brotli: brotliCompressSync(body),
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    integrity,
  }
}
