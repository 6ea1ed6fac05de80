import { hash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { RELEASED_FOLDER } from '../lib/paths.ts'
import type { Bodies } from './response.ts'

/** What `npm run build` makes for browsers. */
const ASSET_NAMES = ['vitrine.css', 'frame.js', 'embed.js', 'studio.js', 'studio.css'] as const
type AssetName = (typeof ASSET_NAMES)[number]

/** One built file, whole and in memory. */
export type Asset = Readonly<{
  /** With the content hash: `vitrine.3f9a1c2b.css`. */
  fileName: string
  /** Below the server's address: `/assets/vitrine.3f9a1c2b.css`. */
  path: string
  contentType: string
  bodies: Required<Bodies<Buffer>>
  /** Weak, quotes included: one for all encodings. */
  etag: string
  /** For `integrity=`: `sha384-…`. */
  integrity: string
}>

/** The built files by name and by file name. */
export type Assets = ReturnType<typeof loadAssets>

const CONTENT_TYPES = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' } as const

const HASHED_NAME = /^([a-z]+)\.[0-9a-f]{8}\.(css|js)$/

type Manifest = Partial<Record<AssetName, Readonly<{ file: string; integrity: string }>>>

/**
 * Read every built file once, and every script that a release had: publishers pin those by their digest. The compressed
 * forms of both are built files, too.
 * @throws Error when `npm run build` has not run since a script was kept. Compressing here would only slow every start down.
 */
export function loadAssets(builtFolder: string, releasedFolder: string = RELEASED_FOLDER) {
  const manifest = JSON.parse(readBuilt(builtFolder, 'manifest.json').toString()) as Manifest
  const assets = new Map<string, Asset>(
    ASSET_NAMES.map((name) => {
      const { file, integrity } = manifest[name] ?? { file: name, integrity: '' }
      return [name, loadAsset(builtFolder, { file, integrity, body: readBuilt(builtFolder, file) })]
    }),
  )
  const releasedAssets = new Map<string, Asset>(
    readdirSync(releasedFolder)
      .filter((file) => HASHED_NAME.test(file))
      .map((file) => {
        const body = readFileSync(join(releasedFolder, file))
        return [file, loadAsset(builtFolder, { file, integrity: '', body })]
      }),
  )
  return {
    get: (name: AssetName): Asset => assets.get(name) as Asset,
    /**
     * The file of a request. A name whose hash is neither the present one nor kept finds the present file with `isLasting`
     * false: it must be short-lived in caches. `undefined` for a name that never was.
     */
    findByFileName(fileName: string): Readonly<{ asset: Asset; isImmutable: boolean }> | undefined {
      const [, stem, ending] = HASHED_NAME.exec(fileName) ?? []
      const asset = releasedAssets.get(fileName) ?? assets.get(`${stem}.${ending}`)
      return asset && { asset, isImmutable: asset.fileName === fileName }
    },
  }
}

function loadAsset(
  builtFolder: string,
  { file, integrity, body }: Readonly<{ file: string; integrity: string; body: Buffer }>,
): Asset {
  return {
    fileName: file,
    path: `/assets/${file}`,
    contentType: CONTENT_TYPES[file.endsWith('.css') ? 'css' : 'js'],
    bodies: {
      identity: body,
      gzip: readBuilt(builtFolder, `${file}.gz`),
      br: readBuilt(builtFolder, `${file}.br`),
    },
    etag: `W/"${hash('sha256', body, 'base64url').slice(0, 22)}"`,
    integrity,
  }
}

function readBuilt(builtFolder: string, file: string): Buffer {
  try {
    return readFileSync(join(builtFolder, file))
  } catch (cause) {
    throw new Error(`public/built/${file} cannot be read: run "npm run build"`, { cause })
  }
}
