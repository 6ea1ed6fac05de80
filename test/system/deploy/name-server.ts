import { type Socket, createSocket } from 'node:dgram'
import { once } from 'node:events'

/** A DNS server on loopback that resolves the given names, like the one of a container network. */
export type NameServer = Readonly<{ port: number; close(): Promise<void> }>

const HEADER_BYTES = 12
/** Length of type and class, which follow the name of a question. */
const QUESTION_END_BYTES = 4
const TYPE_A = 1

/** Start the server. It reads `addresses` for each query, and responds with NXDOMAIN to an unknown name. */
export async function startNameServer(addresses: ReadonlyMap<string, string>): Promise<NameServer> {
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    socket.send(toDnsResponse(query, addresses), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { port: socket.address().port, close: () => close(socket) }
}

/** Build a response by RFC 1035: the question, and one record that points back to its name. */
function toDnsResponse(query: Buffer, addresses: ReadonlyMap<string, string>): Buffer {
  const { name, end } = readName(query)
  const address = addresses.get(name)
  const hasRecord = address !== undefined && query.readUInt16BE(end) === TYPE_A
  const head = Buffer.alloc(HEADER_BYTES)
  head.writeUInt16BE(query.readUInt16BE(0), 0)
  // Flags: response, recursion available; code 3 (NXDOMAIN) for an unknown name.
  head.writeUInt16BE(address === undefined ? 0x8183 : 0x8180, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(hasRecord ? 1 : 0, 6)
  const parts = [head, query.subarray(HEADER_BYTES, end + QUESTION_END_BYTES)]
  if (hasRecord) {
    // The name at byte 12, A, IN, 1 s, 4 bytes.
    const record = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4])
    parts.push(record, Buffer.from(address.split('.').map(Number)))
  }
  return Buffer.concat(parts)
}

function readName(query: Buffer): Readonly<{ name: string; end: number }> {
  const labels: string[] = []
  let offset = HEADER_BYTES
  for (let length = query[offset] ?? 0; length > 0; length = query[offset] ?? 0) {
    labels.push(query.toString('latin1', offset + 1, offset + 1 + length))
    offset += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), end: offset + 1 }
}

async function close(socket: Socket): Promise<void> {
  socket.close()
  await once(socket, 'close')
}
