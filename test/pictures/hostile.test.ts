import { describe, expect, test, vi } from 'vitest'
import { MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { FETCH_TIMEOUT_MS, RESPONSE_TIMEOUT_MS } from '../../src/pictures/fetch-picture.ts'
import { setUpOnce } from '../helpers/cleanup.ts'
import { makeHostilePictures } from './hostile-pictures.ts'
import {
  type PictureApp,
  PASSING_STAND_IN,
  REMEMBERED_STAND_IN,
  SHOWN_WEBP,
  describeResponse,
  startPictureApp,
} from './picture-app.ts'
import { makePicture } from './picture-bytes.ts'
import { HOSTNAME, type Handler, PUBLIC_ADDRESS, redirectTo, sendBody } from './picture-host.ts'
import { selectCases } from '../helpers/property-runs.ts'

const NAMES = (await makeHostilePictures(0)).map(({ name }) => name)

async function countFailures({ harness }: PictureApp, failure: string): Promise<number> {
  const { text } = await harness.context.metrics.render()
  return Number(
    new RegExp(`vitrine_picture_fetches_total\\{outcome="${failure}"\\} (\\d+)`).exec(text)?.[1] ?? 0,
  )
}

describe.each([
  ['with sharp', true],
  ['without sharp', false],
])('hostile responses, %s', (_name, hasSharp) => {
  const getApp = setUpOnce(() => startPictureApp({ hasSharp }))
  const getPictures = setUpOnce(() => makeHostilePictures(getApp().host.port))

  test('table - has at least 60 cases', () => {
    expect(NAMES.length).toBeGreaterThan(60)
    expect(new Set(NAMES).size).toBe(NAMES.length)
  })

  test.each(selectCases(NAMES.map((name, index) => [name, index] as const)))(
    '%s - stand-in, remembered',
    async (_case, index) => {
      const app = getApp()
      const { host } = app
      // A host that failed three times in a row is asked again after a minute.
      app.harness.clock.advance(MINUTE_MS)
      const picture = getPictures()[index]
      if (picture === undefined) throw new Error('no such case')
      const failure = picture.isAvif === true && !hasSharp ? 'format' : picture.failure
      const isPassed = picture.isDecodingNeeded === true && !hasSharp
      const path = `/${index}.png`
      for (const query of ['', '?a', '?b']) host.serve(`${path}${query}`, picture.handler)
      const address = host.serve(path, picture.handler)
      const before = {
        checked: host.checked.length,
        bytes: host.sentBytes(),
        failures: await countFailures(app, failure),
      }
      const responses = [await app.request(address), await app.request(address, 96)]
      const kinds = responses.map(describeResponse)
      const requests = host.requests.length
      expect(
        kinds.every((kind) => isPassed || kind === REMEMBERED_STAND_IN),
        kinds.join(),
      ).toBe(true)
      expect(responses.map(({ headers }) => headers['content-type'])).not.toContain('text/html')
      expect((await countFailures(app, failure)) - before.failures).toBe(isPassed ? 0 : 1)
      await app.request(address)
      expect(host.requests).toHaveLength(requests)
      expect(host.requests).not.toContain('/secret')
      expect(host.checked.slice(before.checked).every((checked) => checked === PUBLIC_ADDRESS.address)).toBe(
        true,
      )
      // An endless body is cut off. The buffers of the connection hold some more.
      expect(host.sentBytes() - before.bytes).toBeLessThan(24 * 1024 ** 2)
    },
  )
})

describe('names that resolve to private addresses', () => {
  const getApp = setUpOnce(() => startPictureApp())

  test.each([
    ['127.0.0.1'],
    ['10.1.2.3'],
    ['169.254.169.254'],
    ['0.0.0.0'],
    ['100.100.100.200'],
    ['192.168.1.1'],
    ['::1'],
    ['::'],
    ['::ffff:127.0.0.1'],
    ['::ffff:10.0.0.1'],
    ['64:ff9b::a00:1'],
    ['FE80::1'],
    ['fe80::1%eth0'],
    ['fd12::1'],
    ['2002:7f00:1::1'],
    ['2001::1'],
    ['2001:db8::1'],
  ])('%s, alone or beside a public one - no connection', async (address) => {
    const app = getApp()
    const { host } = app
    const family = address.includes(':') ? 6 : 4
    const before = host.connectionCount()
    const alone = [{ address, family }]
    for (const addresses of [alone, [PUBLIC_ADDRESS, ...alone], [...alone, PUBLIC_ADDRESS], []]) {
      const hostname = `${host.resolved.length}.example`
      host.setAddresses(hostname, () => addresses)
      const response = await app.request(`https://${hostname}:${host.port}/secret`)
      expect(describeResponse(response)).toBe(REMEMBERED_STAND_IN)
      expect(host.resolved.at(-1)).toBe(hostname)
    }
    expect([host.connectionCount() - before, host.checked]).toEqual([0, []])
  })

  test.each([
    ['https://127.0.0.1/a.png'],
    ['https://[::ffff:7f00:1]/a.png'],
    ['https://169.254.169.254/latest/meta-data'],
    ['https://localhost/a.png'],
    ['https://user:password@pictures.example/a.png'],
    ['http://pictures.example/a.png'],
    ['https://pictures.example/a.png'],
    ['https://pictures.example:22/a.png'],
    ['file:///etc/passwd'],
    ['not an address'],
  ])('%s as the address of a picture - is not even resolved', async (address) => {
    const app = getApp()
    const resolved = app.host.resolved.length
    expect(describeResponse(await app.request(address))).toBe(REMEMBERED_STAND_IN)
    expect(app.host.resolved).toHaveLength(resolved)
  })

  test('name that cannot be resolved - stand-in', async () => {
    const app = getApp()
    app.host.setAddresses('gone.example', () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND gone.example'), { code: 'ENOTFOUND' })
    })
    expect(describeResponse(await app.request('https://gone.example/a.png'))).toBe(REMEMBERED_STAND_IN)
  })

  test('name that changes to a private address between two connections - the second is not made', async () => {
    const app = await startPictureApp()
    const { host } = app
    let resolutions = 0
    host.setAddresses('rebind.example', () => {
      resolutions += 1
      return resolutions === 1 ? [PUBLIC_ADDRESS] : [{ address: '127.0.0.1', family: 4 }]
    })
    const base = `https://rebind.example:${host.port}`
    host.serve('/first', redirectTo(`${base}/secret`, { connection: 'close' }))
    host.serve('/secret', sendBody(await makePicture('png')))
    expect(describeResponse(await app.request(`${base}/first`))).toBe(REMEMBERED_STAND_IN)
    expect([host.requests, host.checked, resolutions]).toEqual([['/first'], [PUBLIC_ADDRESS.address], 2])
  })

  test('each connection - its name is resolved once, and it goes to what was checked', async () => {
    const app = await startPictureApp()
    const { host } = app
    host.serve('/moved', redirectTo(`https://cdn.example:${host.port}/b.png`))
    host.serve('/b.png', sendBody(await makePicture('png')))
    const response = await app.request(`https://${HOSTNAME}:${host.port}/moved`)
    expect(describeResponse(response)).toBe(SHOWN_WEBP)
    expect([host.resolved, host.checked.length, host.connectionCount()]).toEqual([
      [HOSTNAME, 'cdn.example'],
      2,
      2,
    ])
  })

  test('certificate for another name - stand-in', async () => {
    const app = getApp()
    expect(describeResponse(await app.request(`https://other.example:${app.host.port}/a.png`))).toBe(
      REMEMBERED_STAND_IN,
    )
  })
})

/** Let one visitor request 40 pictures of 20 hosts that never respond. `known`: hosts that responded before. */
async function startHanging(toName: (index: number) => string, known: readonly string[] = []) {
  const app = await startPictureApp({ settings: { VITRINE_TRUST_PROXY: '1' } })
  const { host, harness } = app
  const good = sendBody(await makePicture('png'))
  const request = (visitor: string, hostname: string, path = '/good.png') =>
    app.request(`https://${hostname}:${host.port}${path}`, 320, { 'x-forwarded-for': visitor })
  for (const path of ['/good.png', '/other.png']) host.serve(path, good)
  for (const hostname of known) await request('192.0.2.2', hostname)
  const hanging = Array.from({ length: 40 }, (_, index) => {
    host.setAddresses(toName(index % 20), () => new Promise(() => {}))
    return request('192.0.2.1', toName(index % 20), `/${index}.png`)
  })
  // Each waits for its place and for the end of the visitor's patience.
  await vi.waitFor(() => expect(harness.clock.pendingWaits).toBeGreaterThanOrEqual(2 * hanging.length))
  const finish = async (): Promise<void> => {
    harness.clock.advance(10 * SECOND_MS)
    await Promise.all(hanging)
  }
  return { app, request, finish }
}

const fail: Handler = ({ socket }) => void socket.destroy()

describe('slow hosts', () => {
  test.each([
    ['no headers', RESPONSE_TIMEOUT_MS, () => {}],
    [
      'a body that trickles',
      FETCH_TIMEOUT_MS,
      (_request: unknown, response: { write(text: string): void }) => response.write('\x89PNG'),
    ],
  ])('%s - stand-in after the deadline, and the connection is closed', async (_name, timeoutMs, handler) => {
    const app = await startPictureApp()
    let isClosed = false
    const address = app.host.serve('/slow.png', (request, response) => {
      request.socket.on('close', () => (isClosed = true))
      handler(request, response)
    })
    const pending = app.request(address)
    await vi.waitFor(() => expect(app.host.requests).toHaveLength(1))
    app.harness.clock.advance(timeoutMs)
    expect(describeResponse(await pending)).toBe(REMEMBERED_STAND_IN)
    await vi.waitFor(() => expect(isClosed).toBe(true))
    expect(app.host.requests).toHaveLength(1)
  })

  test('many slow pictures of a host - few are fetched at once, and those over the limit get a stand-in at once', async () => {
    const app = await startPictureApp()
    const { host, harness } = app
    const addresses = Array.from({ length: 80 }, (_, index) => host.serve(`/${index}.png`, () => {}))
    const pending = addresses.map((address) => app.request(address))
    let busy = 0
    for (const response of pending)
      void response.then((found) => (busy += Number(describeResponse(found) === PASSING_STAND_IN)))
    await vi.waitFor(() => expect([host.requests.length, busy]).toEqual([2, 14]))
    harness.clock.advance(RESPONSE_TIMEOUT_MS)
    await vi.waitFor(() => expect(host.requests).toHaveLength(4))
    // Visitors wait for ten seconds at most.
    harness.clock.advance(10 * SECOND_MS - RESPONSE_TIMEOUT_MS)
    expect(new Set((await Promise.all(pending)).map(describeResponse))).toEqual(
      new Set([REMEMBERED_STAND_IN, PASSING_STAND_IN]),
    )
  })

  test('host that does not respond - another host is not delayed', async () => {
    const app = await startPictureApp()
    const { host } = app
    const slow = Array.from({ length: 10 }, (_, index) => app.request(host.serve(`/${index}.png`, () => {})))
    await vi.waitFor(() => expect(host.requests).toHaveLength(2))
    host.serve('/other.png', sendBody(await makePicture('png')))
    const other = await app.request(`https://cdn.example:${host.port}/other.png`)
    expect(describeResponse(other)).toBe(SHOWN_WEBP)
    app.harness.clock.advance(FETCH_TIMEOUT_MS)
    app.harness.clock.advance(FETCH_TIMEOUT_MS)
    await Promise.all(slow)
  })

  test('20 hosts of one domain that never respond - use two places, and new hosts are fetched at once', async () => {
    const { app, request, finish } = await startHanging((index) => `h${index}.hang.example`)
    await vi.waitFor(() => expect(app.host.resolved).toHaveLength(2))
    expect(describeResponse(await request('192.0.2.2', 'cdn.example'))).toBe(SHOWN_WEBP)
    expect(app.host.resolved).toHaveLength(3)
    await finish()
  })

  test('20 hosts of as many domains that never respond - use three places, and known hosts are fetched at once', async () => {
    const { app, request, finish } = await startHanging((index) => `h${index}.example`, [HOSTNAME])
    const { host, harness } = app
    await vi.waitFor(() => expect(host.resolved).toHaveLength(1 + 3))
    expect(describeResponse(await request('192.0.2.2', HOSTNAME, '/other.png'))).toBe(SHOWN_WEBP)
    const waits = harness.clock.pendingWaits
    const unknown = request('192.0.2.2', 'cdn.example')
    await vi.waitFor(() => expect(harness.clock.pendingWaits).toBe(waits + 2))
    expect(host.resolved).toHaveLength(1 + 3)
    harness.clock.advance(RESPONSE_TIMEOUT_MS)
    expect(describeResponse(await unknown)).toBe(SHOWN_WEBP)
    await finish()
  })

  test('host that fails three times in a row - its pictures get a stand-in at once, for a minute', async () => {
    const app = await startPictureApp()
    const { host, harness } = app
    const good = sendBody(await makePicture('png'))
    for (const name of ['a', 'b', 'c'])
      expect(describeResponse(await app.request(host.serve(`/${name}.png`, fail)))).toBe(REMEMBERED_STAND_IN)
    expect(describeResponse(await app.request(host.serve('/d.png', good)))).toBe(PASSING_STAND_IN)
    expect(host.requests).toHaveLength(3)
    harness.clock.advance(MINUTE_MS)
    expect(describeResponse(await app.request(host.serve('/d.png', good)))).toBe(SHOWN_WEBP)
    expect(describeResponse(await app.request(host.serve('/e.png', fail)))).toBe(REMEMBERED_STAND_IN)
    expect(describeResponse(await app.request(host.serve('/f.png', good)))).toBe(SHOWN_WEBP)
  })
})
