/**
 * Sends one request after the other over some connections, in a process of its own. It does as little as possible with a
 * response: the length is read, the body is counted and dropped. Order: JSON in argv; result: JSON on standard output.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { computeQuantile } from './statistics.mjs'

const HEAD_END = Buffer.from('\r\n\r\n')

const order = JSON.parse(process.argv[2])
const { origin, pathsFile, method, headers, connections, seconds, isOnce, isClosing } = order
const { hostname, port, host } = new URL(origin)
const paths = readFileSync(pathsFile, 'utf8').trimEnd().split('\n')
const sent = { ...headers, ...(isClosing && { Connection: 'close' }) }
const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`)
const rest = ` HTTP/1.1\r\nHost: ${host}\r\n${lines.join('')}\r\n`
const latencies = []
let failures = 0
let next = 0

function takePath() {
  if (isOnce && next >= paths.length) return undefined
  return paths[next++ % paths.length]
}

/** Ask for a path; resolves with status and length when the whole response is there. Needs `Content-Length`. */
function ask(socket, path) {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0)
    let missing = -1
    let answer
    const onData = (chunk) => {
      if (missing === -1) {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
        const end = received.indexOf(HEAD_END)
        if (end === -1) return
        const head = received.latin1Slice(0, end)
        const bytes = Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
        answer = { status: Number(head.slice(9, 12)), bytes }
        const hasBody = method !== 'HEAD' && answer.status !== 304
        missing = end + HEAD_END.length + (hasBody ? bytes : 0) - received.length
      } else missing -= chunk.length
      if (missing === 0) settle(resolve, answer)
    }
    const onEnd = (error) => settle(reject, error ?? new Error(`${path}: the connection closed`))
    const settle = (how, value) => {
      socket.off('data', onData).off('error', onEnd).off('end', onEnd)
      how(value)
    }
    socket.on('data', onData).on('error', onEnd).on('end', onEnd)
    socket.write(`${method} ${path}${rest}`)
  })
}

async function open() {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  return socket
}

const startedMs = performance.now()
const untilMs = startedMs + seconds * 1e3

async function askOnAndOn() {
  let socket = await open()
  for (let path = takePath(); path !== undefined; path = takePath()) {
    const beganMs = performance.now()
    if (beganMs >= untilMs) break
    if (socket.destroyed) socket = await open()
    const { status, bytes } = await ask(socket, path)
    // A box that could not be had in time is empty.
    if (status !== 304 && (status !== 200 || bytes === 0)) failures += 1
    latencies.push(performance.now() - beganMs)
    if (isClosing) socket.destroy()
  }
  socket.destroy()
}
await Promise.all(Array.from({ length: connections }, askOnAndOn))
const [p50Ms, p99Ms] = [0.5, 0.99].map((share) => computeQuantile(latencies, share))
const perSecond = latencies.length / ((performance.now() - startedMs) / 1e3)
process.stdout.write(JSON.stringify({ requests: latencies.length, perSecond, p50Ms, p99Ms, failures }))
