import { hash as computeHash } from 'node:crypto'
import type { ConversionRequest } from './convert-picture.ts'
import type { PictureValidators } from './fetch-picture.ts'
import type { FileMeta } from './picture-files.ts'

/** A stored original, from the first line of its file. `digest`: of its bytes. */
export type Original = PictureValidators &
  Readonly<{ digest: string; mediaType: string; fetchedAtMs: number }>

export function toOriginalName(hash: string): string {
  return `${hash}.original`
}

/** Part of the name and of the ETag of a converted file. */
export function toVersion(
  { width, format }: Pick<ConversionRequest, 'width' | 'format'>,
  recipe: string,
): string {
  return `${width}.${format}${recipe}`
}

export function toConvertedName(hash: string, digest: string, version: string): string {
  return `${hash}.${digest}.${version}`
}

export function toEtag(digest: string, version: string): string {
  return `"${digest}.${version}"`
}

const DIGEST_CHARACTERS = 16

export function toDigest(bytes: Buffer): string {
  return computeHash('sha256', bytes).slice(0, DIGEST_CHARACTERS)
}

/** Parse the data of a stored original; `undefined` when they are invalid. */
export function parseOriginal(meta: FileMeta): Original | undefined {
  const { digest, mediaType, etag = null, lastModified = null, fetchedAtMs } = meta
  const isValid =
    typeof digest === 'string' && typeof mediaType === 'string' && typeof fetchedAtMs === 'number'
  if (!isValid) return undefined
  return {
    digest,
    mediaType,
    etag: toValidator(etag),
    lastModified: toValidator(lastModified),
    fetchedAtMs,
  }
}

function toValidator(value: string | number | null): string | null {
  return typeof value === 'string' ? value : null
}
