import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, type Server, createServer as createTcpServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  describeConnectionFailure,
  findConnectionCode,
  getConnectionRemedy,
  isInvalidCertificate,
  isServerTimeout,
  isUnknownAuthority,
} from '../../src/outgoing/connection-failures.ts'
import { createOriginDispatcher } from '../../src/outgoing/dispatcher.ts'
import { makeCertificate } from '../helpers/certificate.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { NO_PROXIES } from '../helpers/proxies.ts'

const certificate = makeCertificate(['other.example'])

async function listen(server: Server): Promise<number> {
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  addCleanup(async () => {
    server.close()
    await once(server, 'close')
  })
  return (server.address() as AddressInfo).port
}

/** Call an address that fails; return the reason and the remedy. */
async function fail(origin: string, ca?: string): Promise<string> {
  const timeout = 20_000
  const dispatcher = createOriginDispatcher(new URL(origin), NO_PROXIES, {
    connections: 1,
    headersTimeout: timeout,
    bodyTimeout: timeout,
    connect: { timeout, ...(ca !== undefined && { ca }) },
  })
  onTestFinished(() => dispatcher.destroy())
  const error: unknown = await dispatcher
    .request({ path: '/', method: 'GET' })
    .catch((caught: unknown) => caught)
  const code = findConnectionCode(error)
  return `${describeConnectionFailure(code)}. ${getConnectionRemedy(code, 'VITRINE_CATALOG_URL')}`
}

describe('real failures', () => {
  it('certificates, mixed schemes, names and ports - each has its reason and remedy', async () => {
    const https = await listen(createTlsServer(certificate))
    const http = await listen(createServer())
    expect(await fail(`https://127.0.0.1:${https}`)).toMatch(
      /does not trust the authority of the certificate \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. Set NODE_EXTRA_CA_CERTS/,
    )
    expect(await fail(`https://localhost:${https}`, certificate.cert)).toMatch(
      /for another name \(ERR_TLS_CERT_ALTNAME_INVALID\)\. Use a name of the certificate in VITRINE_CATALOG_URL/,
    )
    expect(await fail(`https://127.0.0.1:${http}`)).toMatch(
      /does not speak https \(\w+\)\. Check http or https, and the port, in VITRINE_CATALOG_URL/,
    )
    expect(await fail(`http://127.0.0.1:${https}`)).toMatch(
      /closed before the end \(\w+\)\. .* port for https/,
    )
    expect(await fail('http://127.0.0.1:1')).toMatch(
      /connection refused \(ECONNREFUSED\)\. Check VITRINE_CATALOG_URL/,
    )
    expect(await fail('http://catalog.invalid')).toMatch(
      /\((?:ENOTFOUND|EAI_AGAIN)\)\. Check the .*name server/,
    )
  })

  it('server that does not speak HTTP - has its reason and remedy', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.write('no HTTP at all\r\n\r\n'))
    })
    expect(await fail(`http://127.0.0.1:${await listen(server)}`)).toMatch(
      /does not respond with HTTP \(HPE_\w+\)\. Check http or https, and the port, in VITRINE_CATALOG_URL/,
    )
  })
})

it.each([
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'does not trust the authority', 'NODE_EXTRA_CA_CERTS'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'does not trust the authority', 'NODE_EXTRA_CA_CERTS'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'does not trust the authority', 'NODE_EXTRA_CA_CERTS'],
  ['CERT_HAS_EXPIRED', 'has expired', 'clock'],
  ['CERT_NOT_YET_VALID', 'is not valid yet', 'clock'],
  ['CERT_REVOKED', 'the certificate is not valid', 'Replace'],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'cannot agree on TLS', 'SOME_URL'],
  ['HPE_INVALID_CONSTANT', 'does not respond with HTTP', 'SOME_URL'],
  ['EHOSTUNREACH', 'no route', 'SOME_URL'],
  ['ETIMEDOUT', 'does not accept the connection in time', 'SOME_URL'],
  ['UND_ERR_HEADERS_TIMEOUT', 'sent nothing in time', 'SOME_URL'],
  ['PROXY_CERT_HAS_EXPIRED', 'the proxy failed: the certificate has expired', 'HTTPS_PROXY'],
  ['PROXY_UND_ERR_SOCKET', 'the proxy failed: the connection was closed', 'HTTPS_PROXY'],
  [
    'PROXY_UND_ERR_CONNECT_TIMEOUT',
    'the proxy failed: the host does not accept the connection in time',
    'HTTPS_PROXY',
  ],
  ['PROXY_UND_ERR_HEADERS_TIMEOUT', 'the proxy failed: the server sent nothing in time', 'HTTPS_PROXY'],
  ['PROXY_SELF_SIGNED_CERT_IN_CHAIN', 'the proxy failed: this machine does not trust', 'NODE_EXTRA_CA_CERTS'],
  ['PROXY_FAILED', 'the proxy failed: no usable response', 'HTTPS_PROXY'],
  ['PROXY_STATUS_407', 'the proxy demands', 'percent-encoded'],
  ['EUNHEARDOF', 'EUNHEARDOF', 'SOME_URL'],
])('%s - %s', (code, reason, remedy) => {
  expect(describeConnectionFailure(code)).toContain(reason)
  expect(getConnectionRemedy(code, 'SOME_URL')).toContain(remedy)
})

it.each([
  ['UND_ERR_CONNECT_TIMEOUT', true],
  ['UND_ERR_BODY_TIMEOUT', true],
  ['PROXY_UND_ERR_CONNECT_TIMEOUT', false],
  [undefined, false],
])('%s - timeout of the server: %s', (code, expected) => {
  expect(isServerTimeout(code)).toBe(expected)
})

it.each([
  ['SELF_SIGNED_CERT_IN_CHAIN', true],
  ['PROXY_SELF_SIGNED_CERT_IN_CHAIN', true],
  ['PROXY_CERT_HAS_EXPIRED', false],
  [undefined, false],
])('%s - unknown authority: %s', (code, expected) => {
  expect(isUnknownAuthority(code)).toBe(expected)
})

it.each([
  ['CERT_HAS_EXPIRED', true],
  ['ERR_TLS_CERT_ALTNAME_INVALID', true],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', false],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', false],
  ['ECONNREFUSED', false],
  [undefined, false],
])('%s - invalid certificate: %s', (code, expected) => {
  expect(isInvalidCertificate(code)).toBe(expected)
})
