import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { QuotaChange } from '../../src/catalog/quota.ts'
import { DAY_MS, HOUR_MS, computeNextMidnightUtcMs } from '../../src/clock.ts'
import type { Environment } from '../../src/config/config.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import { formatTime } from '../../src/widgets/format.ts'
import {
  CHANNEL_ID,
  FAKE_KEY,
  type FakeCatalog,
  makeWireOffer,
  makeWireProduct,
  sendJson,
} from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import { makeFolder, runInProcess, startRemoteCatalog } from './run-cli.ts'

type Finding = { subject: string; isGood: boolean; message: string; remedy: string | null }

async function check(
  settings: Environment,
): Promise<{ code: number | null; bad: Finding[]; subjects: string[] }> {
  const { code, out } = await runInProcess(['check', '--json'], settings)
  const findings = JSON.parse(out) as Finding[]
  expect(findings.every(({ isGood, remedy }) => isGood === (remedy === null))).toBe(true)
  expect(out).not.toContain(FAKE_KEY)
  return {
    code,
    bad: findings.filter(({ isGood }) => !isGood),
    subjects: findings.map(({ subject }) => subject),
  }
}

const FOREIGN = '11111111-2222-4333-8444-555555555555'

describe('check', () => {
  it('no problem - 0, and a line for each check', async () => {
    const { settings } = await startRemoteCatalog(makeFolder())
    const { code, bad, subjects } = await check(settings)
    expect([code, bad]).toEqual([0, []])
    expect(subjects).toEqual([
      'settings',
      'listener',
      'stored copy',
      'catalog and key',
      'request limit',
      `channel Test magazine (${CHANNEL_ID})`,
    ])
  })

  it('more than a fifth of a channel malformed in the last walk - 1, with the kinds and how to find the products', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    const stock = async (malformed: number): Promise<Finding[]> => {
      const offers = Array.from({ length: 10 }, (_, index) =>
        makeWireOffer({ merchant: { name: `Shop ${index}` }, price: index < malformed ? '12,50' : '12.50' }),
      )
      catalog.products.set(CHANNEL_ID, [makeWireProduct({ offers })])
      await runInProcess(['sync'], settings)
      return (await check(settings)).bad
    }
    expect(await stock(2)).toEqual([])
    const [finding, ...others] = await stock(3)
    expect([finding?.subject, others]).toEqual([`channel Test magazine (${CHANNEL_ID})`, []])
    expect(finding?.message).toContain(
      '30 % of what the last walk found was malformed: 3 offers without a usable price',
    )
    expect(finding?.remedy).toContain('vitrine explain CHANNEL GTIN')
  })

  it.each([
    [2, /: 2 products, 0 with a deal, walked /],
    [1, /: 1 product, 0 with a deal, walked /],
    [0, /: no products, walked /],
  ])('channel with %i products - no problem, printed in args', async (productCount, line) => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    const products = Array.from({ length: productCount }, (_, index) =>
      makeWireProduct({ gtin: toGtin(index) }),
    )
    catalog.products.set(CHANNEL_ID, products)
    await runInProcess(['sync'], settings)
    const { code, out } = await runInProcess(['check'], settings)
    expect([code, out]).toEqual([0, expect.stringMatching(line)])
  })

  it('walked channel - the number of days on which its prices were observed', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    catalog.products.set(CHANNEL_ID, [makeWireProduct()])
    await runInProcess(['sync'], settings)
    const readMessages = async (over: Environment): Promise<Record<string, string>> => {
      const { code, out } = await runInProcess(['check', '--json'], { ...settings, ...over })
      expect(code).toBe(0)
      const findings = JSON.parse(out) as Finding[]
      return Object.fromEntries(findings.map(({ subject, message }) => [subject.split(' (')[0], message]))
    }
    const on = await readMessages({})
    expect(on['channel Test magazine']).toMatch(/, walked [^;]*; prices observed on 1 day$/)
    expect(on['stored copy']).toMatch(/ opens$/)
    const off = await readMessages({ VITRINE_HISTORY_DAYS: '0' })
    expect(off['channel Test magazine']).not.toContain('observed')
    expect(off['stored copy']).toMatch(/ opens; prices are not recorded \(VITRINE_HISTORY_DAYS=0\)$/)
  })

  it('no problem, without --json - "good" before each line', async () => {
    const { settings } = await startRemoteCatalog(makeFolder())
    const { code, out, err } = await runInProcess(['check'], settings)
    expect([code, err]).toEqual([0, ''])
    expect(out.split('\n').every((line) => line.startsWith('good '))).toBe(true)
  })

  it('key rejected - 1, with a remedy and without the key', async () => {
    const { settings } = await startRemoteCatalog(makeFolder())
    const { code, bad } = await check({ ...settings, VITRINE_CATALOG_KEY: 'another-key' })
    expect(code).toBe(1)
    expect(bad).toMatchObject([{ subject: 'catalog and key' }])
    expect(bad[0]?.message).toContain('VITRINE_CATALOG_KEY_REFUSED')
    expect(bad[0]?.remedy).toContain('VITRINE_CATALOG_KEY')
    const { out } = await runInProcess(['check'], { ...settings, VITRINE_CATALOG_KEY: 'another-key' })
    expect(out).toContain('WRONG')
    expect(out).not.toContain('another-key')
  })

  it('no channels for the key - 1, with a remedy', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    catalog.channels = []
    const { code, bad } = await check(settings)
    expect([code, bad]).toMatchObject([1, [{ subject: 'channels' }]])
    expect(bad[0]?.message).toContain('lists none for this key')
    expect(bad[0]?.remedy).toContain('belongs to the organization of the channel')
  })

  it('held walk, and an empty list that had channels before - 1, with the consequence and the remedy', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    catalog.products.set(
      CHANNEL_ID,
      Array.from({ length: 100 }, (_, index) => makeWireProduct({ gtin: toGtin(index) })),
    )
    await runInProcess(['sync'], settings)
    catalog.products.set(CHANNEL_ID, [])
    await runInProcess(['sync'], settings)
    catalog.channels = []
    const { code, bad } = await check(settings)
    expect([code, bad]).toMatchObject([
      1,
      [{ subject: 'channels' }, { subject: `channel Test magazine (${CHANNEL_ID})` }],
    ])
    expect(bad[0]?.message).toContain('the channel that it listed before is still shown')
    expect(bad[1]?.message).toContain('because it found 0 products where the copy has 100')
    expect(bad.every(({ remedy }) => remedy?.includes('vitrine sync --accept'))).toBe(true)
  })

  it('catalog with a server error - 1, without blaming the address; the copy is reported as new', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    catalog.fault = { pathPattern: /./, respond: (_request, response) => response.writeHead(503).end() }
    const { out } = await runInProcess(['check'], settings)
    expect(out).toContain('The catalog reports a server error')
    expect(out).toMatch(/good {3}stored copy: .* opens; it has no data of this catalog yet/)
    // An error that a walk does not retry.
    catalog.fault = { pathPattern: /./, respond: (_request, response) => response.writeHead(400).end() }
    await runInProcess(['sync'], settings)
    catalog.fault = null
    await runInProcess(['sync'], settings)
    expect((await runInProcess(['check'], settings)).out).toMatch(/good {3}stored copy: .* opens$/m)
  })

  it('catalog down - 1, with a remedy', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    catalog.fault = { pathPattern: /./, respond: (request) => void request.socket.destroy() }
    const { code, bad } = await check(settings)
    expect([code, bad.length]).toEqual([1, 1])
    expect(bad[0]?.message).toContain('VITRINE_CATALOG_UNREACHABLE')
    expect(bad[0]?.remedy).toContain('VITRINE_CATALOG_URL')
  })

  it.each([
    ['another program responds', 200, '<html>', 'VITRINE_CATALOG_INVALID'],
    ['too deep an address', 404, '{}', 'VITRINE_CATALOG_STATUS'],
    ['daily limit', 429, '{}', 'VITRINE_CATALOG_RATE_LIMITED'],
    ['redirect', 301, '', 'VITRINE_CATALOG_REDIRECT'],
  ])('%s - 1, with its own remedy', async (...[, status, body, code]) => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) => response.writeHead(status).end(body),
    }
    const result = await check(settings)
    expect(result).toMatchObject({ code: 1 })
    expect(result.bad[0]).toMatchObject({
      subject: 'catalog and key',
      message: expect.stringContaining(code),
    })
    expect(result.bad[0]?.remedy).not.toContain('docs/operate/errors.md')
  })

  it('channel that the catalog does not list - 1, with its id and VITRINE_CHANNELS', async () => {
    const { settings } = await startRemoteCatalog(makeFolder())
    const { code, bad } = await check({ ...settings, VITRINE_CHANNELS: `${CHANNEL_ID},${FOREIGN}` })
    expect(code).toBe(1)
    expect(bad).toMatchObject([
      { subject: `channel ${FOREIGN}`, remedy: expect.stringContaining('VITRINE_CHANNELS') },
    ])
  })

  it('no channels - 1', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    catalog.channels = []
    expect(await check(settings)).toMatchObject({ code: 1, bad: [{ subject: 'channels' }] })
  })

  it('last walk failed - 1, with reason, code and a remedy for a catalog that responds', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    const path = settings['VITRINE_DATABASE_URL']?.replace('sqlite:', '') ?? ''
    const store = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: catalog.url })
    await store.beginWalk(CHANNEL_ID, { nowMs: 1, resumableSinceMs: 0 })
    await store.failWalk(CHANNEL_ID, { code: 'VITRINE_CATALOG_INVALID', reason: 'a reason' }, 2)
    await store.close()
    const { code, bad } = await check(settings)
    expect(code).toBe(1)
    expect(bad).toMatchObject([
      {
        message: expect.stringContaining('the last walk failed: a reason (VITRINE_CATALOG_INVALID)'),
        remedy: expect.stringContaining('does not follow its interface'),
      },
    ])
  })

  it('catalog an hour ahead, copy dated tomorrow - 1, with both', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    catalog.nowMs = () => Date.now() + HOUR_MS
    const path = settings['VITRINE_DATABASE_URL']?.replace('sqlite:', '') ?? ''
    const store = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: catalog.url })
    const { walk } = await store.beginWalk(CHANNEL_ID, { nowMs: 1, resumableSinceMs: 0 })
    await store.completeWalk(CHANNEL_ID, walk, { nowMs: Date.now() + DAY_MS, isMalformed: false })
    await store.close()
    const { code, bad } = await check(settings)
    expect(code).toBe(1)
    expect(bad).toMatchObject([
      { subject: 'clock', message: expect.stringContaining('ahead of the clock of this machine') },
      { message: expect.stringContaining('time unknown: the clock was wrong') },
    ])
  })

  it('stored copy cannot be opened - 1, and the other checks still run', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, 'file'), '')
    const { settings } = await startRemoteCatalog(folder)
    const { code, bad, subjects } = await check({
      ...settings,
      VITRINE_DATABASE_URL: `sqlite:${folder}/file/x.db`,
    })
    expect(code).toBe(1)
    expect(bad).toMatchObject([
      { subject: 'stored copy', message: expect.stringContaining('VITRINE_STORE_FAILED') },
    ])
    expect(subjects).toContain('catalog and key')
  })

  it('key file without a key - 78, with the message of every other command', async () => {
    const folder = makeFolder()
    const file = join(folder, 'key')
    writeFileSync(file, '\n')
    const settings = {
      ...(await startRemoteCatalog(folder)).settings,
      VITRINE_CATALOG_KEY: undefined,
      VITRINE_CATALOG_KEY_FILE: file,
    }
    const expected = {
      code: 78,
      out: '',
      err: 'vitrine: invalid settings:\n  VITRINE_CATALOG_KEY_FILE: the file contains no valid key (VITRINE_CONFIG_INVALID)\n',
    }
    for (const args of [['check'], ['check', '--json'], ['sync']])
      expect(await runInProcess(args, settings)).toEqual(expected)
  })

  it('key rejected, channels listed but never walked - no line reports them as good', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    const path = settings['VITRINE_DATABASE_URL']?.replace('sqlite:', '') ?? ''
    const store = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: catalog.url })
    await store.putChannelList(
      [{ id: CHANNEL_ID, name: 'Test magazine', kind: 'website', url: null }],
      Date.now(),
    )
    await store.close()
    const { subjects } = await check({ ...settings, VITRINE_CATALOG_KEY: 'another-key' })
    expect(subjects).toEqual(['settings', 'listener', 'stored copy', 'catalog and key', 'request limit'])
  })

  it('response that contains the key - is not printed', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) => sendJson(response, 500, { error: FAKE_KEY }),
    }
    expect((await check(settings)).code).toBe(1)
  })
})

describe('check of the request limit', () => {
  type Remote = Readonly<{ catalog: FakeCatalog; settings: Environment }>

  /** The line of the command about the limit; `over`: additional settings. */
  async function readLimit(
    { settings }: Remote,
    over: Environment = {},
  ): Promise<Finding & Readonly<{ code: number | null }>> {
    const { code, out } = await runInProcess(['check', '--json'], { ...settings, ...over })
    const findings = (JSON.parse(out) as Finding[]).filter(({ subject }) => subject === 'request limit')
    expect(findings).toHaveLength(1)
    return { code, subject: '', isGood: false, message: '', remedy: null, ...findings[0] }
  }

  /** The quota state that a running server stored. */
  async function storeQuota({ catalog, settings }: Remote, change: QuotaChange): Promise<void> {
    const path = settings['VITRINE_DATABASE_URL']?.replace('sqlite:', '') ?? ''
    const store = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: catalog.url })
    await store.updateQuota(Date.now(), change)
    await store.close()
  }

  it('no known limit - the calls of the day, including this one', async () => {
    const { code, isGood, message } = await readLimit(await startRemoteCatalog(makeFolder()))
    expect([code, isGood]).toEqual([0, true])
    expect(message).toBe('no daily limit known; calls today: walks 0, refreshes 0, first look-ups 1')
  })

  it('configured - the used part of each share', async () => {
    const remote = await startRemoteCatalog(makeFolder())
    await storeQuota(remote, (state) => ({ ...state, calls: { walk: 1_200, refresh: 7, lookup: 0 } }))
    const { isGood, message } = await readLimit(remote, { VITRINE_CATALOG_DAILY_LIMIT: '10000' })
    expect(isGood).toBe(true)
    expect(message).toBe(
      '10,000 a day; calls today: walks 1,200 of 5,000, refreshes 7 of 4,000, first look-ups 1 of 1,000',
    )
  })

  it('learned - how it was learned', async () => {
    const remote = await startRemoteCatalog(makeFolder())
    await storeQuota(remote, (state) => ({
      ...state,
      limitedAtMs: Date.now() - DAY_MS,
      learnedCalls: 2_000,
    }))
    const { isGood, message } = await readLimit(remote)
    expect(isGood).toBe(true)
    expect(message).toBe(
      'about 2,000 a day, learned from a 429; calls today: walks 0 of 1,000, refreshes 0 of 800, first look-ups 1 of 200',
    )
  })

  it('reached - 1, with the end of the pause and a remedy, and no call', async () => {
    const remote = await startRemoteCatalog(makeFolder())
    // A pause ends with its day.
    const untilMs = Math.min(Date.now() + HOUR_MS, computeNextMidnightUtcMs(Date.now()))
    await storeQuota(remote, (state) => ({ ...state, limitedUntilMs: untilMs }))
    const { code, isGood, message, remedy } = await readLimit(remote)
    expect([code, isGood]).toEqual([1, false])
    expect(message).toContain(
      `reached: no catalog calls until ${formatTime(untilMs, 'en')}; calls today: walks 0`,
    )
    expect(remedy).toContain('VITRINE_CATALOG_DAILY_LIMIT')
    expect(remote.catalog.calls).toEqual([])
    expect((await check(remote.settings)).bad[0]?.message).toContain('VITRINE_CATALOG_CALL_BLOCKED')
  })

  it('429 for a call of the check - pauses a running server, too', async () => {
    const remote = await startRemoteCatalog(makeFolder())
    remote.catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) => response.writeHead(429, { 'retry-after': '60' }).end('{}'),
    }
    const { code, message } = await readLimit(remote)
    expect([code, message.startsWith('reached: ')]).toEqual([1, true])
    await readLimit(remote)
    expect(remote.catalog.calls).toHaveLength(1)
  })

  it('look-up share used up - no call, and the line reports it', async () => {
    const remote = await startRemoteCatalog(makeFolder())
    await storeQuota(remote, (state) => ({ ...state, calls: { walk: 0, refresh: 0, lookup: 10 } }))
    const { code, message, remedy } = await readLimit(remote, { VITRINE_CATALOG_DAILY_LIMIT: '100' })
    expect(code).toBe(1)
    expect(remedy).toBe('No calls are left for first look-ups until 00:00 UTC.')
    expect(message).toContain('first look-ups 10 of 10')
    expect(remote.catalog.calls).toEqual([])
  })
})
