/**
 * The status of an answer, and how long its body is or would be.
 * @typedef {{ status: number, bytes: number }} RawAnswer
 */

import { once } from 'node:events'
import { connect } from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')

/**
 * One connection that asks one thing at a time and does as little as can be done with the answer: the length is read,
 * the body is counted and dropped. Answers must have a `Content-Length`.
 * @param {string} origin
 * @returns {Promise<{ ask(path: string, method?: string): Promise<RawAnswer>, close(): void }>}
 */
export async function openRawConnection(origin) {
  const { hostname, port, host } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  let received = Buffer.alloc(0)
  let missing = -1
  let isHead = false
  let answer = { status: 0, bytes: 0 }
  /** @type {((answer: RawAnswer) => void) | null} */
  let resolve = null
  /** @type {((error: Error) => void) | null} */
  let reject = null

  const readHead = () => {
    const end = received.indexOf(HEAD_END)
    if (end === -1) return
    const head = received.latin1Slice(0, end)
    const bytes = Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
    answer = { status: Number(head.slice(9, 12)), bytes }
    const sent = isHead || answer.status === 304 ? 0 : bytes
    missing = end + HEAD_END.length + sent - received.length
  }
  socket.on('data', (chunk) => {
    if (missing === -1) {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      readHead()
    } else missing -= chunk.length
    if (missing !== 0) return
    received = Buffer.alloc(0)
    missing = -1
    resolve?.(answer)
  })
  socket.on('error', (error) => reject?.(error))
  socket.on('close', () => reject?.(new Error(`${origin} closed the connection`)))
  return {
    ask(path, method = 'GET') {
      isHead = method === 'HEAD'
      return new Promise((...settle) => {
        ;[resolve, reject] = settle
        socket.write(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      })
    },
    close() {
      reject = null
      socket.destroy()
    },
  }
}
