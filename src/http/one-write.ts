import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { SECOND_MS } from '../clock.ts'

/** Longest message that is put together here: a reader who stops reading keeps that much of memory until it takes it. */
const MESSAGE_BYTES: number = 16 * 1024

/**
 * What Node keeps of a response that it has not begun, and no documentation tells. Where one of these is missing or of
 * another kind, Node sends the answer itself.
 */
type Unbegun = ServerResponse & { _header: string | null; _headerSent: boolean; _keepAliveTimeout: number }

/** A whole answer: `head` are its header lines, each with its line end, without those that Node adds by itself. */
export type Message = Readonly<{ status: 200 | 304; head: string; body: Buffer | null; nowMs: number }>

const STATUS_TEXTS: Readonly<Record<Message['status'], string>> = { 200: 'OK', 304: 'Not Modified' }

/** Where messages are put together: the kernel takes one at once, and the next one may have its place. */
let place = Buffer.allocUnsafeSlow(MESSAGE_BYTES)

/**
 * Sends an answer in one piece, byte for byte what Node would send, for about two thirds of the work (docs/adr/0019). `false`: nothing
 * was done, since the connection is to close or has not taken the answer before yet, the response has headers already, or
 * the answer is long.
 */
export function writeAtOnce(response: ServerResponse, message: Message): boolean {
  const { socket } = response
  if (socket === null || !isUnbegun(response) || !isFree(response, socket)) return false
  const { status, head, body, nowMs } = message
  const text =
    `HTTP/1.1 ${status} ${STATUS_TEXTS[status]}\r\n${head}` + toNodeLines(nowMs, response._keepAliveTimeout)
  const length = text.length + (body?.length ?? 0)
  if (length > MESSAGE_BYTES) return false
  place.write(text, 'latin1')
  body?.copy(place, text.length)
  // Node takes the response for one whose header was sent, and has nothing more to write.
  response.statusCode = status
  response.statusMessage = STATUS_TEXTS[status]
  response._header = text
  response._headerSent = true
  socket.write(place.subarray(0, length))
  // The kernel did not take all of it: these bytes have to stay as they are.
  if (socket.writableLength > 0) place = Buffer.allocUnsafeSlow(MESSAGE_BYTES)
  response.end()
  return true
}

function isUnbegun(response: ServerResponse): response is Unbegun {
  const { _header, _headerSent, _keepAliveTimeout } = response as Partial<Unbegun>
  return _header === null && _headerSent === false && typeof _keepAliveTimeout === 'number'
}

function isFree(response: ServerResponse, socket: Socket): boolean {
  return (
    response.shouldKeepAlive &&
    response.useChunkedEncodingByDefault &&
    socket.writable &&
    response.getHeaderNames().length === 0
  )
}

const lines = { second: -1, keepAliveMs: -1, text: '' }

/** The lines that Node adds to an answer whose connection stays, and the end of the header block; the same for a second. */
function toNodeLines(nowMs: number, keepAliveMs: number): string {
  const second = Math.floor(nowMs / SECOND_MS)
  if (second !== lines.second || keepAliveMs !== lines.keepAliveMs) {
    const date = new Date(second * SECOND_MS).toUTCString()
    const seconds = Math.floor(keepAliveMs / SECOND_MS)
    const hint = keepAliveMs > 0 ? `Keep-Alive: timeout=${seconds}\r\n` : ''
    const text = `Date: ${date}\r\nConnection: keep-alive\r\n${hint}\r\n`
    Object.assign(lines, { second, keepAliveMs, text })
  }
  return lines.text
}
