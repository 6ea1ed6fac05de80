import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { IncludeFixture } from './include-fixture.ts'

const run = promisify(execFile)

/** The fault proxy over https. */
export type HttpsProxy = Readonly<{ port: number; certificate: string; stop(): Promise<void> }>

/** Start it with a self-signed certificate for widgets.example; needs openssl. */
export async function startHttpsProxy(fixture: IncludeFixture): Promise<HttpsProxy> {
  const key = join(fixture.folder, 'key.pem')
  const certificate = join(fixture.folder, 'certificate.pem')
  const details = [
    '-days',
    '2',
    '-subj',
    '/CN=widgets.example',
    '-addext',
    'subjectAltName=DNS:widgets.example',
  ]
  await run('openssl', [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    key,
    '-out',
    certificate,
    ...details,
  ])
  const tls = { key: await readFile(key), cert: await readFile(certificate) }
  const server = createServer(tls, (incoming, response) => {
    const passed = request(fixture.faultProxy.origin + (incoming.url ?? ''), (upstream) => {
      response.writeHead(upstream.statusCode ?? 500, upstream.headers)
      upstream.pipe(response)
    })
    passed.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    certificate,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** A DNS server with one record. */
export type DnsServer = Readonly<{ port: number; stop(): Promise<void> }>

const NAME = Buffer.from('\u0007widgets\u0007example\u0000')
const A_RECORD = Buffer.from([0, 1])
const FLAGS = { found: 0x81_80, unknown: 0x81_83 }

/** Start a DNS server that resolves only widgets.example, to 127.0.0.1. */
export async function startDnsServer(): Promise<DnsServer> {
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => socket.send(toDnsResponse(query), port, address))
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    port: socket.address().port,
    async stop() {
      const closed = once(socket, 'close')
      socket.close()
      await closed
    },
  }
}

/** Build a response by RFC 1035: the header, the question, and the address for the known name. */
function toDnsResponse(query: Buffer): Buffer {
  const question = query.subarray(12, query.indexOf(0, 12) + 5)
  const isKnown = question.subarray(0, -4).equals(NAME)
  const hasRecord = isKnown && question.subarray(-4, -2).equals(A_RECORD)
  const header = Buffer.alloc(12)
  header.writeUInt16BE(query.readUInt16BE(0), 0)
  header.writeUInt16BE(isKnown ? FLAGS.found : FLAGS.unknown, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(hasRecord ? 1 : 0, 6)
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1])
  return Buffer.concat(hasRecord ? [header, question, record] : [header, question])
}
