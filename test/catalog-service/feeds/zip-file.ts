import { crc32, deflateRawSync } from 'node:zlib'

type ZipEntry = Readonly<{
  name: string
  content: Buffer
  /** Already compressed data of `content`, whose size is `sizeBytes`. */
  deflated?: Buffer
  sizeBytes?: number
  isEncrypted?: boolean
  checksum?: number
}>

const DEFLATE = 8

/** Create a zip archive (APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16). */
export function createZip(entries: readonly ZipEntry[]): Buffer {
  const locals: Buffer[] = []
  const centrals: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const name = Buffer.from(entry.name)
    const data = entry.deflated ?? deflateRawSync(entry.content)
    const fields = createFields(entry, { dataBytes: data.length, nameBytes: name.length })
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), fields, name, data])
    const central = Buffer.alloc(14)
    central.writeUInt32LE(offset, 10)
    centrals.push(Buffer.from('PK\u0001\u0002'), Buffer.from([20, 0]), fields, central, name)
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(centrals)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(entries.length, 4)
  end.writeUInt16LE(entries.length, 6)
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...locals, directory, Buffer.from('PK\u0005\u0006'), end])
}

/** Create the fields that both headers of an entry have. */
function createFields(
  { content, sizeBytes = content.length, isEncrypted = false, checksum = crc32(content) }: ZipEntry,
  { dataBytes, nameBytes }: Readonly<{ dataBytes: number; nameBytes: number }>,
): Buffer {
  const fields = Buffer.alloc(26)
  fields.writeUInt16LE(20, 0)
  fields.writeUInt16LE(isEncrypted ? 1 : 0, 2)
  fields.writeUInt16LE(DEFLATE, 4)
  fields.writeUInt32LE(checksum, 10)
  fields.writeUInt32LE(dataBytes, 14)
  fields.writeUInt32LE(sizeBytes, 18)
  fields.writeUInt16LE(nameBytes, 22)
  return fields
}
