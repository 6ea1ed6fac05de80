import { findFormat } from './formats.ts'

const SIGNATURE_BYTES = 8

/** Length, type and checksum. */
const CHUNK_FRAME_BYTES = 12

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

/** Remove the chunks of a PNG that are not needed to show it. Other formats have no compressed metadata and stay as they are. */
export function removeMetadata(bytes: Buffer): Buffer {
  return findFormat(bytes) === 'png' ? keepChunks(bytes) : bytes
}

function keepChunks(bytes: Buffer): Buffer {
  const kept: Buffer[] = []
  let keptFrom = 0
  let at = SIGNATURE_BYTES
  while (at + CHUNK_FRAME_BYTES <= bytes.length) {
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
