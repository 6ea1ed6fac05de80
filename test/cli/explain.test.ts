import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { WireProduct } from '../../src/catalog/contract.ts'
import type { ExplanationView } from '../../src/explain/widgets.ts'
import {
  CHANNEL_ID,
  FAKE_KEY,
  type FakeCatalog,
  makeWireOffer,
  makeWireProduct,
  sendJson,
} from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import { type CommandResult, makeFolder, runInProcess, startRemoteCatalog } from './run-cli.ts'

const GTIN = toGtin(1)
const MISTYPED = `${GTIN.slice(0, -1)}${(Number(GTIN.at(-1)) + 1) % 10}`
const FOREIGN = '11111111-2222-4333-8444-555555555555'

type ExplainFixture = Readonly<{
  catalog: FakeCatalog
  sync(): Promise<void>
  explain(...args: readonly string[]): Promise<CommandResult & { view: ExplanationView }>
}>

const makeSoldOutOffer = (
  merchant: string,
  over: Partial<WireProduct['offers'][number]> = {},
): WireProduct['offers'][number] =>
  makeWireOffer({ merchant: { name: merchant }, availability: 'sold_out', ...over })

/** A catalog with one product, which three shops have out of stock. */
async function createExplainFixture(
  offers = [makeSoldOutOffer('Kopje'), makeSoldOutOffer('Maison'), makeSoldOutOffer('Zwart')],
): Promise<ExplainFixture> {
  const { catalog, settings } = await startRemoteCatalog(makeFolder())
  catalog.products.set(CHANNEL_ID, [makeWireProduct({ gtin: GTIN, offers })])
  return {
    catalog,
    async sync() {
      expect(await runInProcess(['sync'], settings)).toMatchObject({ code: expect.any(Number) })
    },
    async explain(...args) {
      const ended = await runInProcess(['explain', '--json', CHANNEL_ID, GTIN, ...args], settings)
      expect(ended.out + ended.err).not.toContain(FAKE_KEY)
      return { ...ended, view: JSON.parse(ended.out || '{}') as ExplanationView }
    },
  }
}

const getFact = ({ facts }: ExplanationView, label: string): string | undefined =>
  facts.find((fact) => fact.label === label)?.value

describe('explain, reasons of empty boxes', () => {
  it('emptied copy - reports that the walk found nothing; a product that the catalog has again is shown', async () => {
    const { catalog, sync, explain } = await createExplainFixture()
    catalog.fault = {
      pathPattern: /products/,
      respond: ({ url = '' }, response) =>
        /products\//.test(url)
          ? sendJson(response, 404, { error: 'none' })
          : sendJson(response, 200, { items: [], next_cursor: null }),
    }
    await sync()
    const { code, view } = await explain()
    expect([code, view.summary]).toEqual([
      1,
      expect.stringMatching(
        /^Nothing is shown\. The stored copy of this channel is empty: the walk of .+ found no product at all\.$/,
      ),
    ])
    catalog.fault = null
    expect((await explain()).code).toBe(0)
  })

  it('list of channels that comes at the second call - says to run the command again', async () => {
    const { catalog, explain } = await createExplainFixture()
    catalog.fault = {
      pathPattern: /channels$/,
      respond: (_request, response) => {
        catalog.fault = null
        sendJson(response, 503, { error: 'busy' })
      },
    }
    const { view } = await explain()
    expect(JSON.stringify(view)).toContain('the list of channels was fetched only now; run the command again')
    expect(catalog.countCalls(/products\//)).toBe(0)
  })

  it('malformed prices - reports the number of offers and their error', async () => {
    const { sync, explain } = await createExplainFixture([
      makeSoldOutOffer('A', { price: '12,50' }),
      makeSoldOutOffer('B', { price: 'n/a' }),
    ])
    await sync()
    const { code, view } = await explain()
    expect([code, view.summary]).toEqual([
      1,
      'Nothing is shown. The catalog sent 2 offers of this product, all of them malformed: 2 offers without a usable price.',
    ])
    expect(view.remedy).toContain('vitrine sync')
    expect(getFact(view, 'Stored copy of the channel')).toContain('dropped: 2 offers without a usable price')
  })

  it('no channels - reports that the key has none', async () => {
    const { catalog, explain } = await createExplainFixture()
    catalog.channels = []
    const { code, view } = await explain()
    expect([code, view.summary]).toEqual([1, 'Nothing is shown. The catalog lists no channel for this key.'])
    expect(view.remedy).toContain('VITRINE_CATALOG_KEY')
  })

  it('hidden by an option - names it, and the rule for each offer', async () => {
    const { sync, explain } = await createExplainFixture()
    await sync()
    const { code, view } = await explain('stock=in', 'merchant=Kopje', 'stok=in')
    expect([code, view.summary]).toEqual([
      1,
      'Nothing is shown. The option stock=in hides all 3 offers of this product.',
    ])
    expect(view.offers.map(({ outcome }) => outcome)).toEqual([
      'left out by stock=in',
      'left out by stock=in and merchant=kopje',
      'left out by stock=in and merchant=kopje',
    ])
    expect(getFact(view, 'Filters')).toBe('stock=in, merchant=kopje; ignored (not an option of a box): stok')
  })

  it('hidden by a shop of the shop file - names it as in the argument', async () => {
    const folder = makeFolder()
    const path = join(folder, 'shops.json')
    writeFileSync(path, JSON.stringify({ Kopje: { name: 'Kopje & Co', aliases: ['kopje.example'] } }))
    const { catalog, settings } = await startRemoteCatalog(folder)
    const offers = ['Kopje', 'kopje.example'].map((name) => makeSoldOutOffer(name))
    catalog.products.set(CHANNEL_ID, [makeWireProduct({ gtin: GTIN, offers })])
    const args = ['explain', CHANNEL_ID, GTIN, 'exclude=Kopje & Co']
    const { code, out } = await runInProcess(args, { ...settings, VITRINE_SHOPS_FILE: path })
    expect(code).toBe(1)
    expect(out).toContain('The option exclude=kopje & co hides all 2 offers of this product.')
  })

  it('mistyped GTIN - reports it, with the correct check digit', async () => {
    const { settings } = await startRemoteCatalog(makeFolder())
    const { code, out } = await runInProcess(['explain', CHANNEL_ID, MISTYPED], settings)
    expect(code).toBe(1)
    expect(out).toContain(`Nothing is shown. The check digit (last digit) of the GTIN ${MISTYPED} is wrong.`)
    expect(out).toContain(GTIN)
  })
})

describe('explain', () => {
  it('shown box - 0, one call for the product, and none with --no-call', async () => {
    const { catalog, sync, explain } = await createExplainFixture([
      makeSoldOutOffer('A'),
      makeSoldOutOffer('a', { price: '60.00' }),
      makeSoldOutOffer('B', { currency: 'USD' }),
    ])
    await sync()
    catalog.calls.length = 0
    const { code, view, err } = await explain()
    expect([code, view.summary, view.remedy]).toEqual([0, 'A box is shown: 1 offer.', null])
    expect(view.offers.map(({ outcome }) => outcome)).toEqual([
      'shown',
      'left out: the same shop has a better offer',
      'left out: the box shows the offers in EUR',
    ])
    expect(err).toContain('a cached response for up to 300 more seconds')
    expect(catalog.calls.map(({ path }) => path)).toEqual([`/v0/channels/${CHANNEL_ID}/products/${GTIN}`])
    expect(getFact((await explain('--no-call')).view, 'Catalog now')).toBe('not called: --no-call')
    expect(catalog.calls).toHaveLength(1)
  })

  it('variants and stand-ins - one call for each, and why the shown one was chosen', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    catalog.products.set(
      CHANNEL_ID,
      [2, 3].map((index) =>
        makeWireProduct({ gtin: toGtin(index), title: `Lamp ${index}`, offers: [makeWireOffer()] }),
      ),
    )
    await runInProcess(['sync'], settings)
    catalog.calls.length = 0
    const explain = (...args: readonly string[]): Promise<CommandResult> =>
      runInProcess(['explain', ...args], settings)
    const variants = await explain('--json', CHANNEL_ID, `${GTIN}~${toGtin(2)}`, `else=${toGtin(3)}`)
    expect([variants.code, JSON.parse(variants.out)]).toEqual([
      0,
      expect.objectContaining({
        gtin: `${GTIN}~${toGtin(2)}`,
        summary: 'A box is shown: 1 offer of Lamp 2, the first variant with an offer to show.',
      }),
    ])
    expect(catalog.calls).toHaveLength(3)
    const { code, out } = await explain('--no-call', CHANNEL_ID, GTIN, `else=${toGtin(3)}`)
    expect([code, out.split('\n')[0]]).toEqual([
      0,
      `A box is shown: 1 offer of Lamp 3, which stands in for ${GTIN}.`,
    ])
    expect(out).toContain(`Lamp 3 (stand-in): shown instead, because it is the first stand-in`)
    const tooMany = await explain(
      CHANNEL_ID,
      Array.from({ length: 9 }, (_, index) => toGtin(index)).join('~'),
    )
    expect([tooMany.code, tooMany.err]).toEqual([64, expect.stringContaining('at most 8 variants')])
  })

  it('option history - says on how many days prices were observed, and from when on the box says so', async () => {
    const { sync, explain } = await createExplainFixture()
    await sync()
    const readPrices = async (...args: readonly string[]): Promise<string | undefined> =>
      getFact((await explain('--no-call', ...args)).view, 'Observed prices')
    expect(await readPrices()).toBe('not shown: the option history is not set')
    expect(await readPrices('history=chart')).toMatch(
      /^history=chart, prices in EUR: observed on 1 day\. With the option history, a box says the lowest price after 30 observed days, on \w{3} \d+, \d{4} at the earliest\.$/,
    )
    expect(await readPrices('history=note', 'merchant=Nobody')).toBe(
      'history=note shows nothing: the box has no offers',
    )
  })

  it('without --json - the result first, then the remedy, without terminal codes', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    catalog.products.set(CHANNEL_ID, [
      makeWireProduct({ gtin: GTIN, title: 'Lamp\u009b31m', offers: [makeSoldOutOffer('A')] }),
    ])
    const { code, out } = await runInProcess(
      ['explain', CHANNEL_ID, GTIN, '?stock=in&currency=SEK'],
      settings,
    )
    const [summary, remedy, channel] = out.split('\n')
    expect(code).toBe(1)
    expect(summary).toBe(
      'Nothing is shown. The option stock=in and the option currency=SEK each hide the only offer of this product. Its prices are in EUR.',
    )
    expect([remedy, channel]).toEqual([
      expect.stringMatching(/^ {7}Remove or change the option/),
      'Channel: Test magazine, listed by the catalog',
    ])
    expect(out).not.toMatch(/(?!\n)\p{Cc}/u)
  })

  it('server that is no catalog, and never was one - the remedy is the address', async () => {
    const { catalog, settings } = await startRemoteCatalog(makeFolder())
    catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 200, 'x') }
    const { code, out } = await runInProcess(['explain', CHANNEL_ID, GTIN], settings)
    expect(code).toBe(1)
    expect(out).toContain('The server at this address is not a product catalog.')
    expect(out).not.toContain('does not follow its interface')
  })

  it('unknown channel - lists the known ones', async () => {
    const { settings } = await startRemoteCatalog(makeFolder())
    const { code, out } = await runInProcess(['explain', FOREIGN, GTIN], settings)
    expect(code).toBe(1)
    expect(out).toContain(`Use a listed channel: Test magazine (${CHANNEL_ID}).`)
    const served = { ...settings, VITRINE_CHANNELS: FOREIGN }
    expect((await runInProcess(['explain', CHANNEL_ID, GTIN], served)).out).toContain(
      'VITRINE_CHANNELS does not name this channel.',
    )
  })

  it.each([
    [401, {}, 'status 401 (VITRINE_CATALOG_KEY_REFUSED)', 'VITRINE_CATALOG_KEY.'],
    [429, {}, 'status 429 (VITRINE_CATALOG_RATE_LIMITED)', 'says until when'],
    [500, {}, 'status 500 (VITRINE_CATALOG_STATUS)', 'a server error'],
    [
      200,
      { gtin: GTIN, title: null, offers: [] },
      'malformed: no title (VITRINE_CATALOG_INVALID)',
      'operator',
    ],
    [
      200,
      { gtin: GTIN, title: 'x', offers: null },
      'no list of offers (VITRINE_CATALOG_INVALID)',
      'operator',
    ],
  ])(
    'catalog responds with %s %j - unknown, with the reason and its remedy',
    async (status, body, reason, remedy) => {
      const { catalog, explain } = await createExplainFixture()
      await explain()
      catalog.fault = {
        pathPattern: /products/,
        respond: (_request, response) => sendJson(response, status, body),
      }
      const { code: exit, view } = await explain()
      expect(exit).toBe(1)
      expect(view.summary).toMatch(
        /^Nothing is shown. Nothing is known about this product, and the catalog gave no usable response: the catalog/,
      )
      expect(view.summary).toContain(reason)
      expect(getFact(view, 'Catalog now')).toContain(reason)
      expect(view.remedy).toContain(remedy)
    },
  )

  it.each([
    ['abc', [], 'a GTIN is 1 to 14 digits'],
    [GTIN, ['theme=blue'], 'The parameter "theme" accepts'],
    [GTIN, ['stock'], '"stock" is not an option: write NAME=VALUE'],
    [GTIN, ['stock=in', 'stock=any'], 'The parameter "stock" accepts one value'],
  ])('%s %j - wrong usage, 64', async (gtin, args, expected) => {
    const { settings } = await startRemoteCatalog(makeFolder())
    const { code, err } = await runInProcess(['explain', CHANNEL_ID, gtin, ...args], settings)
    expect([code, err]).toEqual([64, expect.stringContaining(expected)])
  })
})
