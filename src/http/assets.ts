import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { KEPT_FOLDER } from '../paths.ts'

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
   * The file of a request. A name whose hash is neither the present one nor kept finds the present file with `isLasting`
   * false: it must be short-lived in caches. `undefined` for a name that never was.
   */
  findByFile(fileName: string): Readonly<{ asset: Asset; isLasting: boolean }> | undefined
}>

const NAMES: readonly AssetName[] = ['vitrine.css', 'frame.js', 'embed.js', 'studio.js', 'studio.css']

const CONTENT_TYPES = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' } as const

const HASHED_NAME = /^([a-z]+)\.[0-9a-f]{8}\.(css|js)$/

type Manifest = Readonly<Record<string, Readonly<{ file: string; integrity: string }> | undefined>>

/**
 * Reads and compresses every built file once, and every script that a release had: publishers pin those by their digest.
 * Throws (no such file) when `npm run build` has not run.
 */
export function loadAssets(builtFolder: string, keptFolder: string = KEPT_FOLDER): Assets {
  const manifest = JSON.parse(readFileSync(join(builtFolder, 'manifest.json'), 'utf8')) as Manifest
  const assets = new Map<string, Asset>(
    NAMES.map((name) => [name, loadAsset(builtFolder, manifest[name] ?? { file: name, integrity: '' })]),
  )
  const kept = new Map<string, Asset>(
    readdirSync(keptFolder)
      .filter((file) => HASHED_NAME.test(file))
      .map((file) => [file, loadAsset(keptFolder, { file, integrity: '' })]),
  )

  const find = (fileName: string): Asset | undefined => {
    const [, stem, ending] = HASHED_NAME.exec(fileName) ?? []
    return assets.get(`${stem}.${ending}`)
  }
  return {
    get: (name) => assets.get(name) as Asset,
    findByFile(fileName) {
      const asset = kept.get(fileName) ?? find(fileName)
      return asset && { asset, isLasting: asset.fileName === fileName }
    },
  }
}

function loadAsset(
  folder: string,
  { file, integrity }: Readonly<{ file: string; integrity: string }>,
): Asset {
  const body = readFileSync(join(folder, file))
  return {
    fileName: file,
    path: `/assets/${file}`,
    contentType: CONTENT_TYPES[file.endsWith('.css') ? 'css' : 'js'],
    body,
    gzip: gzipSync(body, { level: 9 }),
    brotli: brotliCompressSync(body),
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    integrity,
  }
}
