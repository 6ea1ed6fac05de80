/** A raster format that pictures may have. Vector formats and documents can contain scripts. */
export type PictureFormat = 'jpeg' | 'png' | 'gif' | 'webp' | 'avif'

/** Formats of converted pictures: JPEG for programs that cannot show WebP. */
export type ServedFormat = 'webp' | 'jpeg'

/** Return the media type of a format. */
export function toMediaType(format: PictureFormat): string {
  return `image/${format}`
}

/** First bytes by format, in latin1. */
const SIGNATURES: readonly (readonly [PictureFormat, RegExp])[] = [
  ['jpeg', /^\xff\xd8\xff/],
  ['png', /^\x89PNG\r\n/],
  ['gif', /^GIF8[79]a/],
  ['webp', /^RIFF[^]{4}WEBP/],
  ['avif', /^[^]{4}ftypavi[fs]/],
]

/** Bytes that the signatures read. */
const SIGNATURE_BYTES = 12

/** Find the format by content. Headers of a response are not reliable. */
export function findFormat(bytes: Buffer): PictureFormat | undefined {
  const start = bytes.toString('latin1', 0, SIGNATURE_BYTES)
  return SIGNATURES.find(([, signature]) => signature.test(start))?.[0]
}
