/**
 * Load generator, a process of its own: sends one request after the other on each connection. It does as little as possible
 * with a response: it reads the length, then counts and drops the body. Options: JSON in argv; result: JSON on standard output.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { computeQuantile } from './statistics.mjs'

const HEAD_END = Buffer.from('\r\n\r\n')

const options = JSON.parse(process.argv[2])
const { origin, pathsFile, method, headers, connections, seconds, isOnce, isClosing } = options
const { hostname, port, host } = new URL(origin)
const paths = readFileSync(pathsFile, 'utf8').trimEnd().split('\n')
const requestHeaders = { ...headers, ...(isClosing && { Connection: 'close' }) }
const headerLines = Object.entries(requestHeaders).map(([name, value]) => `${name}: ${value}\r\n`)
const requestEnd = ` HTTP/1.1\r\nHost: ${host}\r\n${headerLines.join('')}\r\n`
const latencies = []
let failures = 0
let next = 0

function takePath() {
  if (isOnce && next >= paths.length) return undefined
  return paths[next++ % paths.length]
}

/** Resolve with status and length when the whole response has arrived. The response needs `Content-Length`. */
function sendRequest(socket, path) {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0)
    let remainingBytes = -1
    let response
    const onData = (chunk) => {
      if (remainingBytes === -1) {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
        const end = received.indexOf(HEAD_END)
        if (end === -1) return
        const head = received.latin1Slice(0, end)
        const bytes = Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
        response = { status: Number(head.slice(9, 12)), bytes }
        const hasBody = method !== 'HEAD' && response.status !== 304
        remainingBytes = end + HEAD_END.length + (hasBody ? bytes : 0) - received.length
      } else remainingBytes -= chunk.length
      if (remainingBytes === 0) settle(resolve, response)
    }
    const onEnd = (error) => settle(reject, error ?? new Error(`${path}: the server closed the connection`))
    const settle = (how, value) => {
      socket.off('data', onData).off('error', onEnd).off('end', onEnd)
      how(value)
    }
    socket.on('data', onData).on('error', onEnd).on('end', onEnd)
    socket.write(`${method} ${path}${requestEnd}`)
  })
}

async function openSocket() {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  return socket
}

const startedMs = performance.now()
const endMs = startedMs + seconds * 1e3

async function sendRequests() {
  let socket = await openSocket()
  for (let path = takePath(); path !== undefined; path = takePath()) {
    const sentMs = performance.now()
    if (sentMs >= endMs) break
    if (socket.destroyed) socket = await openSocket()
    const { status, bytes } = await sendRequest(socket, path)
    // An empty box means that the server had nothing to show in time.
    if (status !== 304 && (status !== 200 || bytes === 0)) failures += 1
    latencies.push(performance.now() - sentMs)
    if (isClosing) socket.destroy()
  }
  socket.destroy()
}
await Promise.all(Array.from({ length: connections }, sendRequests))
const [p50Ms, p99Ms] = [0.5, 0.99].map((share) => computeQuantile(latencies, share))
const perSecond = latencies.length / ((performance.now() - startedMs) / 1e3)
process.stdout.write(JSON.stringify({ requests: latencies.length, perSecond, p50Ms, p99Ms, failures }))
