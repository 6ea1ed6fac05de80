import { hash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { RELEASED_FOLDER } from '../lib/files.ts'
import type { Bodies } from './response.ts'

/** Browser assets built by `npm run build`. */
const ASSET_NAMES = ['vitrine.css', 'frame.js', 'embed.js', 'studio.js', 'studio.css'] as const
type AssetName = (typeof ASSET_NAMES)[number]

export type Asset = Readonly<{
  /** With the content hash, such as `vitrine.3f9a1c2b.css`. */
  fileName: string
  /** Such as `/assets/vitrine.3f9a1c2b.css`. */
  path: string
  contentType: string
  bodies: Bodies
  /** Weak, with quotes. All encodings share it. */
  etag: string
  /** `sha384-…` */
  integrity: string
}>

export type Assets = ReturnType<typeof loadAssets>

const CONTENT_TYPES = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' } as const

const HASHED_NAME = /^([a-z]+)\.[0-9a-f]{8}\.(css|js)$/

type Manifest = Partial<Record<AssetName, Readonly<{ file: string; integrity: string }>>>

/** Read all built and released files. @throws Error when `npm run build` has not run since the last release. */
export function loadAssets(builtFolder: string, releasedFolder: string = RELEASED_FOLDER) {
  const manifest = JSON.parse(readBuilt(builtFolder, 'manifest.json').toString()) as Manifest
  const assets = new Map<string, Asset>(
    ASSET_NAMES.map((name) => {
      const { file, integrity } = manifest[name] ?? { file: name, integrity: '' }
      return [name, loadAsset(builtFolder, { file, integrity, body: readBuilt(builtFolder, file) })]
    }),
  )
  const releasedAssets = readdirSync(releasedFolder)
    .filter((file) => HASHED_NAME.test(file))
    .map((file) => {
      const body = readFileSync(join(releasedFolder, file))
      return loadAsset(builtFolder, { file, integrity: '', body })
    })
  // A current file can be a released one, too.
  const assetsByFile = new Map(
    [...releasedAssets, ...assets.values()].map((asset) => [asset.fileName, asset]),
  )
  return {
    get: (name: AssetName): Asset => assets.get(name) as Asset,
    /** Find a file by name. A name with an unknown hash finds the current file with `isImmutable: false`: cache it briefly. */
    findByFileName(fileName: string): Readonly<{ asset: Asset; isImmutable: boolean }> | undefined {
      const [, stem, ending] = HASHED_NAME.exec(fileName) ?? []
      const asset = assetsByFile.get(fileName) ?? assets.get(`${stem}.${ending}`)
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
    throw new Error(`Cannot read public/built/${file}. Run "npm run build", or install the package again.`, {
      cause,
    })
  }
}
