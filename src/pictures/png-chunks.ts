import { PictureError } from '../errors.ts'
import { findFormat } from './formats.ts'

const SIGNATURE_BYTES = 8

/** Length, type and checksum. */
const CHUNK_FRAME_BYTES = 12

/** A picture of 5 MB in chunks of a kilobyte has fewer; 400,000 empty ones would take half a second to read. */
const MAX_CHUNKS = 10_000

/** Chunks that change what is seen. Others, such as compressed texts, could make the decoder unpack gigabytes. */
const KEPT_CHUNKS: ReadonlySet<string> = new Set([
  'IHDR',
  'PLTE',
  'IDAT',
  'IEND',
  'tRNS',
  'gAMA',
  'cHRM',
  'sRGB',
  'iCCP',
  'cICP',
  'sBIT',
  'eXIf',
])

/**
 * Remove the chunks of a PNG that are not needed to show it. Other formats have no compressed metadata and stay as they are.
 * @throws PictureError `damaged` if there are far more chunks than any picture needs
 */
export function removeMetadata(bytes: Buffer): Buffer {
  return findFormat(bytes) === 'png' ? keepChunks(bytes) : bytes
}

function keepChunks(bytes: Buffer): Buffer {
  const kept: Buffer[] = []
  let keptFrom = 0
  let at = SIGNATURE_BYTES
  for (let count = 0; at + CHUNK_FRAME_BYTES <= bytes.length; count += 1) {
    if (count === MAX_CHUNKS) throw new PictureError('damaged')
    const next = at + CHUNK_FRAME_BYTES + bytes.readUInt32BE(at)
    if (!KEPT_CHUNKS.has(bytes.toString('latin1', at + 4, at + 8))) {
      kept.push(bytes.subarray(keptFrom, at))
      keptFrom = next
    }
    at = next
  }
  if (keptFrom === 0) return bytes
  return Buffer.concat([...kept, bytes.subarray(keptFrom)])
}
