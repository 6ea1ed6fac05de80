import { isUtf8 } from 'node:buffer'

/** What to tell the author of a file that `decodeTextFile` cannot read. */
export const NOT_UTF8 = 'not UTF-8 text; save it as UTF-8'

/**
 * Decode a file that a person wrote, without the byte order mark that some editors add. Return `undefined` for UTF-16, other
 * encodings and binary files: a lenient decoder would read other settings than those in the file.
 */
export function decodeTextFile(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes) || bytes.includes(0)) return undefined
  return bytes.toString('utf8').replace(/^\ufeff/, '')
}
