import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import request from 'supertest'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createApp } from '../../src/app.ts'
import { MINUTE_MS } from '../../src/clock.ts'
import type { Config } from '../../src/config/config.ts'
import { Secret } from '../../src/config/secrets.ts'
import { isStudioReachable } from '../../src/http/admin-auth.ts'
import { BOX, startHarness, fetchPath } from '../app/app-client.ts'
import type { Harness } from '../helpers/harness.ts'

const PASSWORD = 'pass:word='
const OPEN = 200
const REJECTED = 401
const LIMITED = 429
const REDIRECTED = 302

const encode = (text: string): string => Buffer.from(text).toString('base64')
const basic = (text: string): Record<string, string> => ({ Authorization: `Basic ${encode(text)}` })
const RIGHT = basic(`admin:${PASSWORD}`)

const startProtected = (settings: Record<string, string> = {}): Promise<Harness> =>
  startHarness({ settings: { VITRINE_ADMIN_PASSWORD: PASSWORD, ...settings } })

const getStatus = async (harness: Pick<Harness, 'app'>, headers: Record<string, string>): Promise<number> =>
  (await fetchPath(harness, '/metrics', headers)).status

async function guess(
  harness: Harness,
  count: number,
  headers: Record<string, string> = {},
): Promise<number[]> {
  const statuses: number[] = []
  for (let tries = 0; tries < count; tries += 1)
    statuses.push(await getStatus(harness, { ...basic(`admin:guess${tries}`), ...headers }))
  return statuses
}

/** A local demo without a password, with a public address. */
async function startDemo(publicUrl: string): Promise<Pick<Harness, 'app'>> {
  const { context } = await startHarness()
  const config: Config = { ...context.config, catalog: { kind: 'embedded' } }
  return { app: createApp({ ...context, config, publicUrl }) }
}

describe('password', () => {
  test.each([
    ['the right one', `Basic ${encode(`admin:${PASSWORD}`)}`],
    ['scheme in another case', `bASIC ${encode(`admin:${PASSWORD}`)}`],
    ['base64 without padding', `Basic ${encode(`admin:${PASSWORD}`).replace(/=+$/, '')}`],
  ])('%s - opens', async (_case, authorization) => {
    expect(await getStatus(await startProtected(), { Authorization: authorization })).toBe(OPEN)
  })

  test.each([
    ['only its beginning', `Basic ${encode('admin:pass')}`],
    ['one character more', `Basic ${encode(`admin:${PASSWORD}=`)}`],
    ['another case', `Basic ${encode(`admin:${PASSWORD.toUpperCase()}`)}`],
    ['user in another case', `Basic ${encode(`Admin:${PASSWORD}`)}`],
    ['no user', `Basic ${encode(`:${PASSWORD}`)}`],
    ['password alone', `Basic ${encode(PASSWORD)}`],
    ['not encoded', `Basic admin:${PASSWORD}`],
    ['another scheme', `Digest ${encode(`admin:${PASSWORD}`)}`],
    ['no scheme', encode(`admin:${PASSWORD}`)],
  ])('%s - is rejected', async (_case, authorization) => {
    expect(await getStatus(await startProtected(), { Authorization: authorization })).toBe(REJECTED)
  })

  test('refusal - names the realm and the setting, not the password', async () => {
    const seen = await fetchPath(await startProtected(), '/studio')
    expect(seen.headers['www-authenticate']).toBe('Basic realm="Vitrine", charset="UTF-8"')
    expect(seen.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(seen.text).toBe('Log in as "admin" with the password of VITRINE_ADMIN_PASSWORD.\n')
  })

  test('HEAD - requires the password, too', async () => {
    const { app } = await startProtected()
    expect((await request(app).head('/metrics')).status).toBe(REJECTED)
    expect((await request(app).head('/metrics').set(RIGHT)).status).toBe(OPEN)
  })

  test('local demo with a password - requires it', async () => {
    const { context } = await startProtected()
    const config: Config = { ...context.config, catalog: { kind: 'embedded' } }
    expect(await getStatus({ app: createApp({ ...context, config }) }, {})).toBe(REJECTED)
  })
})

describe('limit of wrong passwords', () => {
  test('nine wrong passwords - the correct one still works and is not counted; the tenth wrong one locks', async () => {
    const harness = await startProtected()
    expect(await guess(harness, 9)).toEqual(Array(9).fill(REJECTED))
    expect(await getStatus(harness, RIGHT)).toBe(OPEN)
    expect(await guess(harness, 2)).toEqual([REJECTED, LIMITED])
    expect(await getStatus(harness, RIGHT)).toBe(LIMITED)
  })

  test('wrong passwords on several pages - are counted together; public pages stay open', async () => {
    const harness = await startProtected()
    for (let tries = 0; tries < 5; tries += 1) {
      for (const path of ['/studio', '/metrics'])
        expect((await fetchPath(harness, path, basic('admin:no'))).status).toBe(REJECTED)
    }
    for (const path of ['/studio', '/studio/gallery', '/metrics'])
      expect((await fetchPath(harness, path, RIGHT)).status).toBe(LIMITED)
    for (const path of ['/healthz', '/readyz', BOX])
      expect((await fetchPath(harness, path)).status).toBe(OPEN)
  })

  test('15 minutes later - the lock ends, not a millisecond earlier', async () => {
    const harness = await startProtected()
    await guess(harness, 10)
    harness.clock.advance(15 * MINUTE_MS - 1)
    expect(await getStatus(harness, RIGHT)).toBe(LIMITED)
    harness.clock.advance(1)
    expect(await getStatus(harness, RIGHT)).toBe(OPEN)
  })

  test('many requests without a password - 401, never counted', async () => {
    const harness = await startProtected()
    for (const headers of [{}, { Authorization: '' }]) {
      for (let visits = 0; visits < 15; visits += 1) {
        for (const path of ['/studio', '/metrics', '/studio/gallery'])
          expect((await fetchPath(harness, path, headers)).status).toBe(REJECTED)
        expect((await fetchPath(harness, '/', headers)).status).toBe(REDIRECTED)
        expect((await fetchPath(harness, '/readyz', headers)).status).toBe(OPEN)
      }
    }
    expect(await getStatus(harness, RIGHT)).toBe(OPEN)
  })

  test('forty correct passwords at once, twice - all work', async () => {
    const harness = await startProtected()
    const server = createServer(harness.app).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const open = async (): Promise<number> => {
      const response = await fetch(`http://127.0.0.1:${port}/studio`, { headers: RIGHT })
      await response.text()
      return response.status
    }
    for (let turn = 0; turn < 2; turn += 1)
      expect(new Set(await Promise.all(Array.from({ length: 40 }, open)))).toEqual(new Set([OPEN]))
  })

  test('forty wrong passwords at once - ten are checked', async () => {
    const harness = await startProtected()
    const statuses = await Promise.all(
      Array.from({ length: 40 }, (_, index) => getStatus(harness, basic(`admin:guess${index}`))),
    )
    expect(statuses.filter((status) => status === REJECTED)).toHaveLength(10)
    expect(statuses.filter((status) => status === LIMITED)).toHaveLength(30)
  })

  test('locked address - further requests do not extend the lock', async () => {
    const harness = await startProtected()
    await guess(harness, 10)
    harness.clock.advance(14 * MINUTE_MS)
    for (const headers of [RIGHT, basic('admin:no'), {}]) {
      const seen = await fetchPath(harness, '/metrics', headers)
      expect([seen.status, seen.headers['retry-after'], seen.headers['cache-control']]).toEqual([
        LIMITED,
        '60',
        'no-store',
      ])
      expect(seen.text).toContain('locked for 1 more minutes')
    }
    harness.clock.advance(MINUTE_MS)
    expect(await getStatus(harness, RIGHT)).toBe(OPEN)
  })

  test('/ - redirects to the studio and checks no password', async () => {
    const harness = await startProtected()
    for (const headers of [{}, RIGHT, ...Array.from({ length: 15 }, () => basic('admin:no'))]) {
      const seen = await fetchPath(harness, '/', headers)
      expect([seen.status, seen.headers['location']]).toEqual([REDIRECTED, 'https://widgets.example/studio'])
    }
    expect(await getStatus(harness, RIGHT)).toBe(OPEN)
  })

  test('untrusted proxy - a forwarded address does not bypass the limit', async () => {
    const harness = await startProtected()
    for (let tries = 0; tries < 10; tries += 1)
      await guess(harness, 1, { 'X-Forwarded-For': `192.0.2.${tries}` })
    expect(await getStatus(harness, { ...RIGHT, 'X-Forwarded-For': '192.0.2.99' })).toBe(LIMITED)
  })

  test('trusted proxy - each visitor has a separate limit', async () => {
    const harness = await startProtected({ VITRINE_TRUST_PROXY: 'loopback' })
    expect(await guess(harness, 11, { 'X-Forwarded-For': '192.0.2.1' })).toContain(LIMITED)
    expect(await getStatus(harness, { ...RIGHT, 'X-Forwarded-For': '192.0.2.2' })).toBe(OPEN)
    expect(await getStatus(harness, { ...RIGHT, 'X-Forwarded-For': '192.0.2.1' })).toBe(LIMITED)
  })

  test('all proxies trusted - forged addresses do not bypass the limit', async () => {
    const harness = await startProtected({ VITRINE_TRUST_PROXY: 'true' })
    const statuses: number[] = []
    for (let tries = 0; tries < 40; tries += 1)
      statuses.push(...(await guess(harness, 1, { 'X-Forwarded-For': `192.0.2.${tries}` })))
    expect(statuses.filter((status) => status === REJECTED)).toHaveLength(10)
  })

  test('trusted proxy - IPv6 addresses of one /64 share a limit', async () => {
    const harness = await startProtected({ VITRINE_TRUST_PROXY: 'loopback' })
    for (let tries = 0; tries < 10; tries += 1)
      await guess(harness, 1, { 'X-Forwarded-For': `2001:db8:1:2:${tries}::1` })
    const tryFrom = (address: string): Promise<number> =>
      getStatus(harness, { ...RIGHT, 'X-Forwarded-For': address })
    expect(await tryFrom('2001:db8:1:2:ffff::9')).toBe(LIMITED)
    expect(await tryFrom('2001:db8:1:3::1')).toBe(OPEN)
  })

  test('trusted proxy that sends ports or invalid text - does not bypass the limit', async () => {
    const harness = await startProtected({ VITRINE_TRUST_PROXY: 'loopback' })
    for (let tries = 0; tries < 10; tries += 1)
      await guess(harness, 1, { 'X-Forwarded-For': `192.0.2.1:${1_000 + tries}` })
    expect(await getStatus(harness, { ...RIGHT, 'X-Forwarded-For': '192.0.2.1:9' })).toBe(LIMITED)
    for (let tries = 0; tries < 10; tries += 1) await guess(harness, 1, { 'X-Forwarded-For': `x${tries}` })
    expect(await getStatus(harness, { ...RIGHT, 'X-Forwarded-For': 'y' })).toBe(LIMITED)
  })

  test('two servers in one process - count separately', async () => {
    const [one, other] = [await startProtected(), await startProtected()]
    await guess(one, 10)
    expect(await getStatus(one, RIGHT)).toBe(LIMITED)
    expect(await getStatus(other, RIGHT)).toBe(OPEN)
  })
})

describe('untrusted proxy', () => {
  const WARNING = 'X-Forwarded-For was ignored: VITRINE_TRUST_PROXY does not name the proxy'
  const HEADERS = { 'X-Forwarded-For': '192.0.2.1' }

  test('refusals name the setting, and the log has one line', async () => {
    const harness = await startProtected()
    for (let tries = 0; tries < 12; tries += 1)
      expect((await fetchPath(harness, '/studio', { ...basic('admin:no'), ...HEADERS })).text).toContain(
        WARNING,
      )
    expect(harness.logs().split(WARNING)).toHaveLength(2)
    expect(harness.logs()).not.toContain('192.0.2.1')
  })

  test.each([
    ['no such header', {}, {}],
    ['a trusted proxy', { VITRINE_TRUST_PROXY: 'loopback' }, HEADERS],
    ['every proxy trusted', { VITRINE_TRUST_PROXY: 'true' }, HEADERS],
  ])('%s - no warning', async (_case, settings, headers) => {
    const harness = await startProtected(settings)
    expect((await fetchPath(harness, '/studio', headers)).text).not.toContain('VITRINE_TRUST_PROXY')
    expect(harness.logs()).not.toContain('VITRINE_TRUST_PROXY')
  })
})

describe('connections that are reset', () => {
  test('many at protected pages - no bug in the log, and the server still responds', async () => {
    const harness = await startProtected()
    const printed = [vi.spyOn(console, 'error'), vi.spyOn(process.stderr, 'write')]
    onTestFinished(() => printed.forEach((spy) => spy.mockRestore()))
    const server = createServer(harness.app).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        reset(port, ['/studio', '/metrics', '/readyz'][index % 3] ?? ''),
      ),
    )
    expect((await fetch(`http://127.0.0.1:${port}/metrics`, { headers: RIGHT })).status).toBe(OPEN)
    expect(harness.logs()).not.toContain('"level":50')
    for (const spy of printed) expect(spy).not.toHaveBeenCalled()
  })
})

/** Send a request and reset the connection at once. */
async function reset(port: number, path: string): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  await once(socket, 'connect')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  socket.resetAndDestroy()
  await closed
}

describe('host names of a local demo', () => {
  test.each([
    ['http://demo.example:8080', 'demo.example:8080', 404],
    ['http://demo.example:8080', 'demo.example', 404],
    ['http://demo.example:8080', 'demo.example:8081', 404],
    ['http://demo.example:8080', 'LOCALHOST:1', 200],
    ['http://demo.example:8080', '127.255.255.254', 200],
    ['http://demo.example:8080', '128.0.0.1', 404],
    ['http://demo.example:8080', '0.0.0.0', 404],
    ['http://demo.example:8080', '[::2]', 404],
    ['http://demo.example:8080', 'localhost@evil.example', 404],
    ['http://demo.example/sub', 'demo.example', 404],
  ])('public address %s, host %s - %i', async (publicUrl, host, status) => {
    expect(await getStatus(await startDemo(publicUrl), { Host: host })).toBe(status)
  })

  test('empty forwarding header - counts as a proxy', async () => {
    expect(await getStatus(await startDemo('http://127.0.0.1'), { 'X-Forwarded-For': '' })).toBe(404)
  })
})

const checkReachable = async (
  kind: 'embedded' | 'remote',
  host: string,
  password: string | null,
): Promise<boolean> => {
  const { context } = await startHarness()
  const catalog = kind === 'embedded' ? ({ kind } as const) : context.config.catalog
  return isStudioReachable({
    config: { ...context.config, catalog, host },
    secrets: { ...context.secrets, adminPassword: password === null ? null : new Secret(password) },
  })
}

describe('address of the studio', () => {
  test.each([
    ['embedded', '127.0.0.1', null, true],
    ['embedded', '0.0.0.0', null, false],
    ['remote', '127.0.0.1', null, false],
    ['remote', '0.0.0.0', 'p', true],
    ['embedded', '0.0.0.0', 'p', true],
  ] as const)('%s catalog, listener %s, password %s - reachable: %s', async (...row) => {
    const [kind, host, password, isReachable] = row
    expect(await checkReachable(kind, host, password)).toBe(isReachable)
  })
})
