import { describe, expect, test, vi } from 'vitest'
import { removeSubSlots } from '../../src/lib/sub-template.ts'
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../src/clock.ts'
import type { CopyEntry } from '../../src/storage/store.ts'
import { BadOptionError, InvalidGtinError, UnknownChannelError } from '../../src/errors.ts'
import type { Surface } from '../../src/widgets/options.ts'
import type { BoxView } from '../../src/widgets/box.ts'
import type { GridView } from '../../src/widgets/grid.ts'
import type { Widget } from '../../src/widgets/widget.ts'
import { GTIN, makeProductOnSale, startHarness, startStockedHarness } from '../app/app-client.ts'
import type { WireOffer, WireProduct } from '../../src/catalog/contract.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import { type Harness, NOON_MS } from '../helpers/harness.ts'

/** One with a correct and one with a wrong check digit; no shop sells them. */
const NOT_SOLD = '09521234567905'
const MISTYPED = '09521234567906'
const OTHER_CHANNEL = '00000000-0000-4000-8000-000000000002'
const OTHER_GTIN = '09521234567882'

type AddressInput = Readonly<{ query?: string; surface?: Surface; gtin?: string; channelId?: string }>

const toParts = ({ query = '', surface = 'fragment', channelId = CHANNEL_ID }: AddressInput) =>
  ({ channelId, surface, query }) as const
const getBox = async (
  { context: { widgets } }: Harness,
  input: AddressInput = {},
): Promise<Widget<BoxView>> =>
  widgets.getBox(widgets.parseBoxAddress({ ...toParts(input), gtin: input.gtin ?? GTIN }))
const getGrid = async (
  { context: { widgets } }: Harness,
  input: AddressInput = {},
): Promise<Widget<GridView>> => widgets.getGrid(widgets.parseGridAddress(toParts(input)), { visitor: '' })

function failCatalog(harness: Harness): void {
  harness.catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 500, {}) }
}

/** The address and the digest of the data. */
const toKey = ({ address, computeDigest }: Widget<unknown>): string =>
  `${address.surface} ${address.path} ${computeDigest('')}`

async function listKeys(
  get: (input: AddressInput) => Promise<Widget<unknown>>,
  inputs: readonly AddressInput[],
): Promise<string[]> {
  const keys: string[] = []
  for (const input of inputs) keys.push(toKey(await get(input)))
  return keys
}

const toAddressInput = (queries: readonly string[]): AddressInput[] => queries.map((query) => ({ query }))
const COMMON =
  'theme=dark accent=aa0000 locale=de currency=EUR merchant=kopje exclude=kopje isolate=shadow css=none limit=3'.split(
    ' ',
  )

describe('key of a box', () => {
  test('equal views - equal keys', async () => {
    const harness = await startStockedHarness()
    const same: AddressInput[] = [
      {},
      { query: 'utm_source=x&sort=price' },
      { query: 'limit=5&theme=auto&locale=EN&css=link' },
      { channelId: CHANNEL_ID.toUpperCase() },
      { gtin: GTIN.slice(1) },
    ]
    const keys = await listKeys((input) => getBox(harness, input), same)
    expect(new Set(keys).size).toBe(1)
    harness.clock.advance(60_000)
    expect(toKey(await getBox(harness))).toBe(keys[0])
  })

  test('different views - different keys', async () => {
    const harness = await startStockedHarness([makeProductOnSale(), makeProductOnSale({ gtin: OTHER_GTIN })])
    const different: AddressInput[] = [
      {},
      { surface: 'embed' },
      { gtin: OTHER_GTIN },
      ...toAddressInput([...COMMON, 'stock=in', 'markup=schema']),
    ]
    const keys = await listKeys((input) => getBox(harness, input), different)
    expect(new Set(keys).size).toBe(different.length)
  })

  test('newer response of the catalog - another key', async () => {
    const harness = await startStockedHarness()
    const before = await getBox(harness)
    harness.clock.advance(2 * HOUR_MS)
    const after = await getBox(harness)
    expect([before.asOfMs, after.asOfMs]).toEqual([NOON_MS, NOON_MS + 2 * HOUR_MS])
    expect(toKey(after)).not.toBe(toKey(before))
  })

  test('observed prices - another key only if what is shown of them changes', async () => {
    const harness = await startStockedHarness()
    const { store, caches } = harness.context
    const read = vi.spyOn(store, 'findPriceSeries')
    const toKeyOf = async (query: string, count: number, price: number): Promise<string> => {
      const days = Array.from({ length: count }, (_, index) => ({
        day: NOON_MS / DAY_MS - 200.5 + index,
        low: price + (index % 2),
        last: price,
        isImported: false,
      }))
      read.mockResolvedValue([{ merchantKey: 'kopje', currency: 'EUR', days }])
      caches.histories.delete(`${CHANNEL_ID} ${GTIN}`)
      return toKey(await getBox(harness, { query }))
    }
    const note = await toKeyOf('history=note', 40, 10_000)
    expect(await toKeyOf('history=note', 40, 10_000)).toBe(note)
    expect(await toKeyOf('history=note', 41, 10_000)).not.toBe(note)
    expect(await toKeyOf('history=note', 40, 20_000)).not.toBe(note)
    expect(await toKeyOf('history=chart', 40, 10_000)).not.toBe(note)
    expect(await toKeyOf('history=note', 20, 10_000)).toBe(await toKeyOf('history=note', 10, 20_000))
    expect(await toKeyOf('', 40, 10_000)).toBe(await toKeyOf('', 41, 20_000))
  })

  test('price that becomes too old - another key, a millisecond after its maximum age', async () => {
    const harness = await startStockedHarness()
    const before = await getBox(harness)
    failCatalog(harness)
    harness.clock.advance(DAY_MS)
    const atLimit = await getBox(harness)
    expect([toKey(atLimit), atLimit.oldestPriceMs]).toEqual([toKey(before), NOON_MS])
    harness.clock.advance(1)
    const after = await getBox(harness)
    expect(toKey(after)).not.toBe(toKey(before))
    expect([after.asOfMs, after.oldestPriceMs]).toEqual([NOON_MS, null])
    expect(after.getView()?.offers[0]?.price).toBeNull()
  })
})

const toTimestamp = (timeMs: number): string => new Date(timeMs).toISOString()

const startWithOffer = (over: Partial<WireOffer>): Promise<Harness> =>
  startStockedHarness([makeProductOnSale({ offers: [makeWireOffer({ old_price: '99.80', ...over })] })])

describe('widget with times of prices', () => {
  const CHECKED_MS = NOON_MS - HOUR_MS
  const END_MS = NOON_MS + 30_000
  test.each([
    ['box', getBox],
    ['grid', getGrid],
  ])('%s - is valid until the sale ends, and then has another key', async (_name, get) => {
    const harness = await startWithOffer({ sale_ends_at: toTimestamp(END_MS) })
    const before = await get(harness)
    expect(before).toMatchObject({ saleEndMs: END_MS, oldestPriceMs: NOON_MS })
    expect(before.validUntilMs).toBeLessThanOrEqual(END_MS)
    harness.clock.advance(29_999)
    expect(toKey(await get(harness))).toBe(toKey(before))
    expect((await get(harness)).validUntilMs).toBe(END_MS)
    harness.clock.advance(1)
    const after = await get(harness)
    expect(after).toMatchObject({ saleEndMs: null, oldestPriceMs: null })
    expect(toKey(after)).not.toBe(toKey(before))
  })

  test.each([
    ['box', getBox],
    ['grid', getGrid],
  ])('%s - is valid until the price is too old, counted from its check', async (_name, get) => {
    const harness = await startWithOffer({ checked_at: toTimestamp(CHECKED_MS) })
    harness.clock.advance(DAY_MS - HOUR_MS - 100)
    await harness.context.walks.runNow()
    const widget = await get(harness)
    expect(widget).toMatchObject({ oldestPriceMs: CHECKED_MS, validUntilMs: CHECKED_MS + DAY_MS + 1 })
    expect(widget.getView()?.notices.checkedAt?.iso).toBe(toTimestamp(CHECKED_MS))
  })

  test('newer response with the same check - the same key; a newer check - another one', async () => {
    const harness = await startWithOffer({ checked_at: toTimestamp(CHECKED_MS) })
    const before = await getBox(harness)
    harness.clock.advance(2 * HOUR_MS)
    const after = await getBox(harness)
    expect([after.asOfMs, toKey(after)]).toEqual([NOON_MS + 2 * HOUR_MS, toKey(before)])
    const offers = [makeWireOffer({ old_price: '99.80', checked_at: toTimestamp(NOON_MS) })]
    harness.catalog.products.set(CHANNEL_ID, [makeProductOnSale({ offers })])
    harness.clock.advance(2 * HOUR_MS)
    expect(toKey(await getBox(harness))).not.toBe(toKey(before))
  })

  test('deal whose price is too old - is still valid only until its sale ends', async () => {
    const harness = await startWithOffer({ checked_at: toTimestamp(0), sale_ends_at: toTimestamp(END_MS) })
    expect(await getGrid(harness)).toMatchObject({ oldestPriceMs: null, saleEndMs: END_MS })
    expect(await getBox(harness)).toMatchObject({ oldestPriceMs: null, saleEndMs: null })
  })
})

describe('key of a grid', () => {
  test('equal views - equal keys', async () => {
    const harness = await startStockedHarness()
    const same: AddressInput[] = [
      {},
      { query: 'utm_source=x&markup=schema' },
      { query: 'limit=12&stock=in&page=1&q=' },
      { channelId: CHANNEL_ID.toUpperCase() },
    ]
    const keys = await listKeys((input) => getGrid(harness, input), same)
    expect(new Set(keys).size).toBe(1)
  })

  test('different views - different keys', async () => {
    const harness = await startStockedHarness()
    const gridOptions = [
      'stock=any',
      'page=2',
      'sort=price',
      'min_discount=2',
      'max_price=60',
      'brand=lumen',
      'q=arc',
    ]
    const different: AddressInput[] = [
      {},
      { surface: 'embed' },
      ...toAddressInput([...COMMON, ...gridOptions]),
    ]
    const keys = await listKeys((input) => getGrid(harness, input), different)
    expect(new Set(keys).size).toBe(different.length)
  })

  test('box and grid of the same channel - have different kinds', async () => {
    const harness = await startStockedHarness()
    expect([(await getBox(harness)).address.kind, (await getGrid(harness)).address.kind]).toEqual([
      'where-to-buy',
      'deals',
    ])
  })
})

describe('reason of a hidden widget', () => {
  test('not sold, mistyped or excluded by an option - different reasons, and no view', async () => {
    const harness = await startStockedHarness()
    const reasons: string[] = []
    for (const input of [{ gtin: NOT_SOLD }, { gtin: MISTYPED }, { query: 'merchant=nobody' }]) {
      const widget = await getBox(harness, input)
      expect(widget.getView()).toBeUndefined()
      reasons.push(widget.explainHidden())
    }
    expect(reasons).toEqual([
      'No shop of this channel sells the product with this GTIN. Check the GTIN and the channel.',
      expect.stringMatching(/^The last digit of this GTIN is wrong \(it should be \d\): check the GTIN/),
      'The option merchant=nobody hides the only offer of this product. Its shops: Kopje.',
    ])
  })

  test('channel that is no longer listed - is shown until rescue ends, then hidden on every surface', async () => {
    const harness = await startStockedHarness()
    const { catalog, clock, context } = harness
    catalog.channels = [{ id: OTHER_CHANNEL, name: 'Other', kind: 'app', url: null }]
    await context.walks.runNow()
    clock.advance(context.config.freshness.rescueSeconds * SECOND_MS - 1)
    expect((await getBox(harness)).getView()).toBeDefined()
    clock.advance(2)
    catalog.calls.length = 0
    for (const widget of [
      await getBox(harness),
      await getGrid(harness),
      await getBox(harness, { surface: 'embed' }),
    ]) {
      expect([widget.getView(), widget.explainHidden(), widget.oldestPriceMs]).toEqual([
        undefined,
        'The catalog no longer lists this channel.',
        null,
      ])
    }
    expect(catalog.countCalls(/products/)).toBe(0)
  })

  test('grid without a deal - the reason names the option', async () => {
    const widget = await getGrid(await startStockedHarness(), { query: 'q=nothing' })
    expect(widget.getView()).toBeUndefined()
    expect(widget.explainHidden()).toBe(
      'No offer that is on sale and in stock matches the option q=nothing. Remove or change a filter.',
    )
  })

  test('product that no shop sells - has no oldest price', async () => {
    expect((await getBox(await startStockedHarness(), { gtin: NOT_SOLD })).oldestPriceMs).toBeNull()
  })
})

describe('sentence about a product with variants', () => {
  const SETTINGS = { VITRINE_MAIL_NETWORKS: 'brightlink' }
  const SOLD_OUT = makeWireOffer({ availability: 'sold_out' })
  const toBoth = (first: WireOffer, second: WireOffer): WireProduct[] => [
    makeWireProduct({ gtin: GTIN, offers: [first] }),
    makeWireProduct({ gtin: OTHER_GTIN, offers: [second] }),
  ]
  const REQUEST = { gtin: `${GTIN}~${OTHER_GTIN}`, query: 'layout=inline' }

  test.each(['fragment', 'embed', 'data', 'mail'] as const)(
    '%s - a variant after the shown one is not missing, one before it is',
    async (surface) => {
      const both = await startStockedHarness(toBoth(makeWireOffer(), makeWireOffer()), { settings: SETTINGS })
      const shown = await getBox(both, { ...REQUEST, surface })
      expect([shown.getView()?.gtin, shown.explainMissing(), shown.gtins]).toEqual([GTIN, null, [GTIN]])
      const second = await startStockedHarness(toBoth(SOLD_OUT, makeWireOffer()), { settings: SETTINGS })
      const box = await getBox(second, { ...REQUEST, surface })
      expect([box.getView()?.gtin, box.explainMissing()]).toEqual([
        OTHER_GTIN,
        `1 of 2 products is not shown. ${GTIN}: The layout inline shows one price, and no offer that the options allow is in stock with a current price.`,
      ])
    },
  )

  test.each([
    ['after', OTHER_GTIN, GTIN, false],
    ['before', GTIN, OTHER_GTIN, true],
  ])('variant %s the shown one unavailable - partial: only if it could be shown', async (...row) => {
    const [, unavailable, gtin, isPartial] = row
    const harness = await startHarness()
    harness.catalog.products.set(CHANNEL_ID, toBoth(makeWireOffer(), makeWireOffer()))
    harness.catalog.fault = {
      pathPattern: new RegExp(`products/${unavailable}`),
      respond: (_request, response) => sendJson(response, 500, {}),
    }
    const box = await getBox(harness, REQUEST)
    expect([box.getView()?.gtin, box.isPartial]).toEqual([gtin, isPartial])
    expect(box.validUntilMs - harness.clock.nowMs() <= 5 * SECOND_MS).toBe(isPartial)
    expect((await getBox(harness, { ...REQUEST, query: '' })).isPartial).toBe(true)
  })
})

describe('oldest price of a grid', () => {
  test('deals of several ages - the oldest shown price, whose date is printed', async () => {
    const harness = await startStockedHarness([
      makeProductOnSale(),
      makeProductOnSale({ gtin: OTHER_GTIN, title: 'Younger' }),
    ])
    harness.clock.advance(2 * HOUR_MS)
    const { asOfMs } = await getBox(harness, { gtin: OTHER_GTIN })
    // A look-up is stored shortly after its response.
    const findStored = (): Promise<CopyEntry | undefined> =>
      harness.context.store.findProduct(CHANNEL_ID, OTHER_GTIN)
    await vi.waitFor(async () => expect((await findStored())?.asOfMs).toBe(asOfMs))
    failCatalog(harness)
    const both = await getGrid(harness)
    expect([both.asOfMs, both.oldestPriceMs]).toEqual([NOON_MS, NOON_MS])
    harness.clock.advance(DAY_MS - 2 * HOUR_MS + 1)
    const one = await getGrid(harness)
    expect([one.asOfMs, one.oldestPriceMs]).toEqual([NOON_MS, NOON_MS + 2 * HOUR_MS])
    expect(one.getView()?.notices.checkedAt?.iso).toBe('2026-11-21T14:00:00.000Z')
    harness.clock.advance(2 * HOUR_MS)
    const none = await getGrid(harness)
    expect(none.oldestPriceMs).toBeNull()
    expect(none.getView()?.deals.map(({ price }) => price)).toEqual([null, null])
  })

  test('price that becomes too old between two requests - another key for the same cached page', async () => {
    const settings = { VITRINE_PRICE_MAX_AGE_SECONDS: '60' }
    const harness = await startStockedHarness(undefined, { settings })
    const before = await getGrid(harness)
    harness.clock.advance(60_000)
    expect(toKey(await getGrid(harness))).toBe(toKey(before))
    harness.clock.advance(1)
    expect(toKey(await getGrid(harness))).not.toBe(toKey(before))
  })

  test('page without a deal - no oldest price', async () => {
    expect((await getGrid(await startStockedHarness([makeWireProduct()]))).oldestPriceMs).toBeNull()
  })
})

describe('pages of a grid', () => {
  test('frame - has links with the public address; fragment - no links', async () => {
    const products = [makeProductOnSale(), makeProductOnSale({ gtin: OTHER_GTIN })]
    const harness = await startStockedHarness(products, {
      over: { publicUrl: 'https://widgets.example/sub' },
    })
    const input = { query: 'limit=1' }
    const { paging } = (await getGrid(harness, { ...input, surface: 'embed' })).getView() ?? {}
    expect(removeSubSlots(paging?.next?.href ?? '')).toBe(
      `https://widgets.example/sub/embeds/${CHANNEL_ID}/deals?limit=1&page=2`,
    )
    expect((await getGrid(harness, input)).getView()?.paging).toBeNull()
  })
})

describe('invalid addresses', () => {
  test('invalid option, GTIN or channel - throws; the option is checked first', async () => {
    const harness = await startStockedHarness()
    await expect(getBox(harness, { query: 'limit=0', gtin: 'x' })).rejects.toThrow(BadOptionError)
    await expect(getGrid(harness, { query: 'page=0', channelId: 'x' })).rejects.toThrow(BadOptionError)
    await expect(getBox(harness, { gtin: 'x', channelId: 'x' })).rejects.toThrow(InvalidGtinError)
    await expect(getBox(harness, { gtin: '1'.repeat(15) })).rejects.toThrow(InvalidGtinError)
    await expect(getBox(harness, { channelId: 'x' })).rejects.toThrow(UnknownChannelError)
    await expect(getGrid(harness, { channelId: 'x' })).rejects.toThrow(UnknownChannelError)
  })
})

describe('defaults of the server', () => {
  test('VITRINE_LOCALE with an extension, VITRINE_CURRENCY - are normalized like options', async () => {
    const settings = { VITRINE_LOCALE: 'de-at-u-co-phonebk', VITRINE_CURRENCY: 'chf' }
    const { context } = await startHarness({ settings })
    expect(context.widgets.defaults).toEqual({ locale: 'de-AT', currency: 'CHF' })
  })
})
