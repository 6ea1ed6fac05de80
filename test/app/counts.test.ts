import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import request from 'supertest'
import { beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS } from '../../src/clock.ts'
import { toDay } from '../../src/offers/price-history.ts'
import { computeOfferId } from '../../src/widgets/view-parts.ts'
import { makeFolder } from '../cli/run-cli.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import { type Harness, NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { fetchPath, startStockedHarness } from './app-client.ts'

const FIREFOX = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }
const BOT = { 'User-Agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)' }
const [LAMP, CHAIR, INVENTED] = [toGtin(1), toGtin(2), toGtin(999)]
const FRAGMENT = `/fragments/${CHANNEL_ID}/where-to-buy/${LAMP}`
const EMBED = `/embeds/${CHANNEL_ID}/where-to-buy/${LAMP}`
const GO = `/go/${CHANNEL_ID}/${LAMP}/${computeOfferId({ network: 'brightlink', merchant: 'Kopje', currency: 'EUR' })}`

let harness: Harness
let folder: string
const start = (links: 'direct' | 'counted'): Promise<Harness> =>
  startStockedHarness(
    [LAMP, CHAIR].map((gtin) => makeWireProduct({ gtin, offers: [makeWireOffer()] })),
    { settings: { VITRINE_DATABASE_URL: `sqlite:${join(folder, 'copy.db')}`, VITRINE_LINKS: links } },
  )

beforeEach(async () => {
  folder = makeFolder()
  harness = await start('counted')
})

const PERIOD = { fromDay: toDay(NOON_MS), untilDay: toDay(NOON_MS) }
const CLICKS = { ...PERIOD, limit: 100 }

/** Return the stored counts as `gtin sub shown hidden unavailable`. */
async function readCounts(): Promise<readonly string[]> {
  const { coverage, store } = harness.context
  await coverage.flush()
  const gtins = [LAMP, CHAIR, INVENTED]
  const placements = await store.listPlacements(CHANNEL_ID, { ...PERIOD, gtins })
  return placements.map(({ gtin, sub, shown, hidden, unavailable }) =>
    [gtin, sub, shown, hidden, unavailable].join(' '),
  )
}

async function readClicks(): Promise<readonly string[]> {
  await harness.context.coverage.flush()
  const clicks = await harness.context.store.listClicks(CHANNEL_ID, CLICKS)
  return clicks.map(({ gtin, merchant, sub, clicks: count }) => [gtin, merchant, sub, count].join(' '))
}

describe('responses', () => {
  test('box, cached or not, under several placements - counts each response for its placement', async () => {
    for (const query of ['', '', '?sub=post-1', '?sub=post-1', '?sub=post-2', '?limit=3&sub=post-1'])
      expect((await fetchPath(harness, `${FRAGMENT}${query}`)).status).toBe(200)
    expect(await readCounts()).toEqual([`${LAMP} post-1 3 0 0`, `${LAMP}  2 0 0`, `${LAMP} post-2 1 0 0`])
  })

  test('hidden box - counts as hidden; an invented GTIN creates no row', async () => {
    await fetchPath(harness, `${FRAGMENT}?merchant=Nobody&sub=a`)
    for (const sub of ['a', 'b'])
      await fetchPath(harness, `/fragments/${CHANNEL_ID}/where-to-buy/${INVENTED}?sub=${sub}`)
    expect(await readCounts()).toEqual([`${LAMP} a 0 1 0`])
  })

  test('box with a stand-in - counts as shown, for the product of the address', async () => {
    await fetchPath(harness, `${FRAGMENT}?merchant=nobody&else=${CHAIR}`)
    await fetchPath(harness, `/fragments/${CHANNEL_ID}/where-to-buy/${INVENTED}~${LAMP}?sub=a`)
    expect(await readCounts()).toEqual([`${LAMP}  0 1 0`, `${LAMP} a 1 0 0`])
  })

  test('round-up - counts each of its products; a grid counts none', async () => {
    await fetchPath(harness, `/fragments/${CHANNEL_ID}/picks/${LAMP},${INVENTED},${CHAIR}?sub=a`)
    await fetchPath(harness, `/fragments/${CHANNEL_ID}/deals?sub=a`)
    expect(await readCounts()).toEqual([`${LAMP} a 1 0 0`, `${CHAIR} a 1 0 0`])
  })

  test('product whose data is too old while the catalog fails - counts as unavailable', async () => {
    await fetchPath(harness, `${FRAGMENT}?sub=a`)
    harness.catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) => response.writeHead(500).end(),
    }
    harness.clock.step(8 * DAY_MS)
    const { headers } = await fetchPath(harness, `${FRAGMENT}?sub=a`)
    expect(headers['vitrine-state']).toBe('unavailable')
    await harness.context.coverage.flush()
    const untilDay = PERIOD.untilDay + 8
    const request = { fromDay: untilDay, untilDay, gtins: [LAMP] }
    expect(await harness.context.store.listPlacements(CHANNEL_ID, request)).toMatchObject([
      { sub: 'a', shown: 0, hidden: 0, unavailable: 1 },
    ])
  })

  test('304 - counts, because the reader sees the widget', async () => {
    const { headers } = await fetchPath(harness, EMBED, FIREFOX)
    const again = await fetchPath(harness, EMBED, { ...FIREFOX, 'If-None-Match': headers['etag'] ?? '' })
    expect(again.status).toBe(304)
    expect(await readCounts()).toEqual([`${LAMP}  2 0 0`])
  })

  test('bots, prefetches and HEAD - count nothing, cached or not', async () => {
    for (let turn = 0; turn < 2; turn += 1) {
      await fetchPath(harness, EMBED, BOT)
      await fetchPath(harness, EMBED)
      await fetchPath(harness, EMBED, { ...FIREFOX, 'Sec-Purpose': 'prefetch' })
      await fetchPath(harness, FRAGMENT, { 'Sec-Purpose': 'prefetch;prerender' })
      await request(harness.app).head(FRAGMENT)
    }
    expect(await readCounts()).toEqual([])
  })
})

describe('clicks', () => {
  test('of readers - count by shop and placement; of bots, prefetches, HEAD, and of offers that are gone, they do not', async () => {
    for (const query of ['?sub=post-1', '?sub=post-1', '', '?sub=not+valid'])
      expect((await fetchPath(harness, `${GO}${query}`, FIREFOX)).status).toBe(302)
    await fetchPath(harness, GO, BOT)
    expect((await fetchPath(harness, GO, { ...FIREFOX, 'Sec-Purpose': 'prefetch' })).status).toBe(503)
    const head = await request(harness.app).head(GO).set(FIREFOX).redirects(0)
    expect([head.status, head.headers['location']]).toEqual([302, expect.stringMatching(/^https:/)])
    await fetchPath(harness, GO.replace(LAMP, INVENTED), FIREFOX)
    expect(await readClicks()).toEqual([`${LAMP} Kopje  2`, `${LAMP} Kopje post-1 2`])
  })
})

test('VITRINE_LINKS=direct - the links of sandboxed frames are not counted', async () => {
  folder = makeFolder()
  harness = await start('direct')
  expect((await fetchPath(harness, GO, FIREFOX)).status).toBe(302)
  expect(await readClicks()).toEqual([])
})

test('requests of a visitor - leave nothing of their headers in database, log and metrics', async () => {
  const headers = {
    'User-Agent': `${FIREFOX['User-Agent']} marker-of-the-browser`,
    'X-Forwarded-For': '203.0.113.77',
    Referer: 'https://magazine.example/marker-of-the-page',
    Cookie: 'marker-of-the-cookie=1',
  }
  for (const path of [FRAGMENT, EMBED, GO]) await fetchPath(harness, `${path}?sub=a`, headers)
  expect(await readCounts()).toEqual([`${LAMP} a 2 0 0`])
  expect(await readClicks()).toHaveLength(1)
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'))
  const { text } = await harness.context.metrics.render()
  for (const output of [...files, harness.logs(), text]) expect(output).not.toMatch(/marker-of|203\.0\.113/)
})
