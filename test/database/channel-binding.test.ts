import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { BoundClient } from '../../src/database/postgres.ts'

/** A message of the server: type, length and content. */
function toMessage(type: string, ...content: readonly (number | string)[]): Buffer {
  const parts = content.map((part) => {
    if (typeof part === 'string') return Buffer.from(`${part}\0`)
    const number = Buffer.alloc(4)
    number.writeInt32BE(part)
    return number
  })
  const body = Buffer.concat(parts)
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}

/** Start a server that answers every client with these bytes; return its port and what it receives after them. */
async function startFakeServer(response: Buffer): Promise<Readonly<{ port: number; received(): string }>> {
  const received: Buffer[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write(response)
      socket.on('data', (data) => received.push(data))
    })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, received: () => String(Buffer.concat(received)) }
}

const READY = Buffer.concat([toMessage('R', 0), Buffer.from([0x5a, 0, 0, 0, 5, 0x49])])

test.each([
  ['asks for the password', toMessage('R', 3)],
  ['asks for a hash of the password', toMessage('R', 5, 1_234)],
  ['offers SCRAM without channel binding', toMessage('R', 10, 'SCRAM-SHA-256', '')],
  ['asks for nothing', READY],
  [
    'offers channel binding, but does not prove that it knows the password',
    Buffer.concat([toMessage('R', 10, 'SCRAM-SHA-256-PLUS', 'SCRAM-SHA-256', ''), READY]),
  ],
])('server that %s - gets no password, and the connection fails once', async (_name, response) => {
  const { port, received } = await startFakeServer(response)
  const client = new BoundClient({ host: '127.0.0.1', port, user: 'me', database: 'd', password: 'secret' })
  client.on('error', () => {})
  await expect(client.connect()).rejects.toThrow(/channel_binding=require demands|requires a certificate/)
  await client.end()
  expect(received()).not.toContain('secret')
  expect(received()).toBe('')
})
