import { type Socket, createSocket } from 'node:dgram'
import { once } from 'node:events'

/** A name server on loopback that knows the given names, as the one of a container network does. */
export type NameServer = Readonly<{ port: number; close(): Promise<void> }>

const HEADER_BYTES = 12
/** Type A, class IN, as they stand behind the name of a question. */
const QUESTION_END_BYTES = 4
const TYPE_A = 1

/** Starts it. Addresses are looked up anew for each question; of a name without one it says that there is no such name. */
export async function startNameServer(addresses: ReadonlyMap<string, string>): Promise<NameServer> {
  const socket = createSocket('udp4')
  socket.on('message', (question, { port, address }) => {
    socket.send(toDnsResponse(question, addresses), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { port: socket.address().port, close: () => close(socket) }
}

/** RFC 1035: the question once more, and one record that points back to its name. */
function toDnsResponse(question: Buffer, addresses: ReadonlyMap<string, string>): Buffer {
  const { name, end } = readName(question)
  const address = addresses.get(name)
  const isAnswered = address !== undefined && question.readUInt16BE(end) === TYPE_A
  const head = Buffer.alloc(HEADER_BYTES)
  head.writeUInt16BE(question.readUInt16BE(0), 0)
  // An answer, recursion available; code 3 where the name is not known.
  head.writeUInt16BE(address === undefined ? 0x8183 : 0x8180, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(isAnswered ? 1 : 0, 6)
  const parts = [head, question.subarray(HEADER_BYTES, end + QUESTION_END_BYTES)]
  if (isAnswered) {
    // The name at byte 12, A, IN, 1 s, 4 bytes.
    const record = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4])
    parts.push(record, Buffer.from(address.split('.').map(Number)))
  }
  return Buffer.concat(parts)
}

function readName(question: Buffer): Readonly<{ name: string; end: number }> {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 }
}

async function close(socket: Socket): Promise<void> {
  socket.close()
  await once(socket, 'close')
}
