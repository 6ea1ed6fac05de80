import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { addCleanup } from './cleanup.ts'

export const EVENT_SECRET = 'test-signing-secret-0123456789'

export type ReceivedEvent = Readonly<{
  headers: IncomingMessage['headers']
  body: string
  url: string | undefined
}>

/** A receiver of webhooks. It answers with the next of `responses`, then with 204. */
export type EventReceiver = Readonly<{
  url: string
  received: ReceivedEvent[]
  responses: ((response: ServerResponse) => void)[]
}>

const acceptEvent = (response: ServerResponse): void => void response.writeHead(204).end()

export async function startEventReceiver(): Promise<EventReceiver> {
  const received: ReceivedEvent[] = []
  const responses: EventReceiver['responses'] = []
  const server = createServer((request, response) => {
    const receive = async (): Promise<void> => {
      received.push({ headers: request.headers, body: await text(request), url: request.url })
      const respond = responses.shift() ?? acceptEvent
      respond(response)
    }
    void receive()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  addCleanup(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hook?token=path-secret-1234`, received, responses }
}

/** Verify a signature as a receiver does, independently of `src/events/`. */
export async function isSignatureValid(
  { headers, body }: ReceivedEvent,
  secret = EVENT_SECRET,
): Promise<boolean> {
  const encoder = new TextEncoder()
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['verify'])
  const hex = String(headers['vitrine-signature']).replace(/^sha256=/, '')
  const signature = Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16))
  const signed = encoder.encode(`${String(headers['vitrine-timestamp'])}.${body}`)
  return crypto.subtle.verify('HMAC', key, signature, signed)
}
