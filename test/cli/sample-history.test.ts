import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseProduct } from '../../src/catalog/parse.ts'
import { createDemo, getSampleData } from '../../src/catalog-service/sample/sample-data.ts'
import { createSampleHistory } from '../../src/catalog-service/sample/sample-history.ts'
import { seedSampleData } from '../../src/catalog-service/sample/seed-sample-data.ts'
import { addSampleHistory } from '../../src/cli/sample-history.ts'
import { DAY_MS } from '../../src/clock.ts'
import { parseConfig } from '../../src/config/config.ts'
import { createFixedKeySource } from '../../src/config/key-source.ts'
import { Secret } from '../../src/config/secrets.ts'
import { createLogger } from '../../src/observability/logger.ts'
import {
  type ObservedDay,
  addPresentPrice,
  findFall,
  findLowest,
  listDayLows,
  listObservedDays,
  toDay,
  toObservedPrice,
} from '../../src/offers/price-history.ts'
import { toRatioKey } from '../../src/offers/money.ts'
import { foldCase } from '../../src/offers/text.ts'
import { type StoredCopy, openStoredCopy } from '../../src/storage/stored-copy.ts'
import type { DealQuery } from '../../src/storage/store.ts'
import { fetchProducts, openTestStore } from '../catalog-service/harness.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makePage, makeQuery } from '../storage/conformance/subject.ts'

const BASE = 'http://127.0.0.1:3000'
const COPY = 'embedded:sample'
const SAMPLE = getSampleData()
const SHOWCASE = createDemo(BASE, {}).showcase
const TODAY = toDay(NOON_MS)

type Fixture = Readonly<{
  store: StoredCopy
  /** Add the sample history as the server does at its start. */
  add(content?: 'sample' | 'empty' | 'own'): Promise<void>
  /** Walk the sample products of the first channel. */
  walk(): Promise<void>
  passDays(days: number): void
  path: string
  logs(): string
}>

async function createFixture(settings: Readonly<Record<string, string>> = {}): Promise<Fixture> {
  const file = await makeCopyFile()
  addCleanup(() => file.remove())
  const clock = createFakeClock(NOON_MS)
  const { config } = parseConfig({ VITRINE_DATABASE_URL: `sqlite:${file.path}`, ...settings })
  const { database, history } = config
  const store = await openStoredCopy({ database, catalog: COPY, clock, history })
  addCleanup(() => store.close())
  const lines: string[] = []
  const logger = createLogger({ level: 'warn', stream: { write: (line) => void lines.push(line) } })
  const catalog = { baseUrl: BASE, copyName: COPY, key: createFixedKeySource(new Secret('key')) }
  return {
    store,
    path: file.path,
    passDays: (days) => clock.advance(days * DAY_MS),
    logs: () => lines.join(''),
    async add(content = 'sample') {
      const readCatalogContent = () => Promise.resolve(content)
      const demo = createDemo(BASE, { readCatalogContent, readFeeds: () => Promise.resolve(undefined) })
      await addSampleHistory({ config, clock, logger }, { demo, catalog })
    },
    async walk() {
      const catalogStore = await openTestStore()
      await seedSampleData(catalogStore.store, BASE)
      const { channelId } = SHOWCASE
      const wires = await fetchProducts(catalogStore, channelId)
      const products = wires.map((wire) => parseProduct(wire, wire.gtin, { ownOrigin: BASE }))
      const asOfMs = clock.nowMs()
      const { walk } = await store.beginWalk(channelId, { nowMs: asOfMs, resumableSinceMs: asOfMs })
      await store.applyPage(channelId, makePage(walk, products, { asOfMs }))
      await store.completeWalk(channelId, walk, { nowMs: asOfMs, isMalformed: false })
    },
  }
}

type DealEntry = Awaited<ReturnType<StoredCopy['findDeals']>>[number]

const listDeals = (store: StoredCopy, over: Partial<DealQuery>): Promise<readonly DealEntry[]> =>
  store.findDeals(makeQuery({ channelId: SHOWCASE.channelId, limit: 200, ...over }))

const toKey = ({ gtin, offer: { merchant, network } }: DealEntry): string => `${gtin} ${merchant} ${network}`

describe('history of the sample data', () => {
  it.each(['before', 'after'])(
    'added %s the first walk - deals are confirmed, largest fall first',
    async (when) => {
      const { store, add, walk, logs } = await createFixture()
      if (when === 'before') await add()
      await walk()
      if (when === 'after') await add()
      const deals = await listDeals(store, { evidence: 'observed', sort: 'drop' })
      expect(deals.length).toBeGreaterThan(30)
      const falls = new Map(
        deals.map((deal) => [toKey(deal), toRatioKey(deal.offer.price, deal.offer.oldPrice ?? '')]),
      )
      expect([...falls.values()]).toEqual([...falls.values()].sort())
      const sorted = await listDeals(store, { sort: 'drop' })
      const sortedFalls = sorted.flatMap((deal) => falls.get(toKey(deal)) ?? [])
      expect(sortedFalls.length).toBeGreaterThan(30)
      expect(sortedFalls).toEqual(sortedFalls.toSorted())
      expect(sorted.length).toBeGreaterThan(deals.length)
      expect(logs()).toBe('')
    },
  )

  it('showcase - several shops, a lowest price some weeks ago, one gap', async () => {
    const { store, add } = await createFixture()
    await add()
    const series = await store.findPriceSeries(SHOWCASE.channelId, SHOWCASE.gtin)
    const euros = series.filter(({ currency }) => currency === 'EUR')
    expect(euros).toHaveLength(8)
    const lows = listDayLows(euros)
    expect(lows.length).toBeGreaterThanOrEqual(100)
    expect([lows[0]?.day, lows.at(-1)?.day]).toEqual([TODAY - 120, TODAY - 1])
    expect(findLowest(lows)).toEqual({ day: TODAY - 29, low: 1_799_000 })
    const gaps = lows.filter(({ day }, index) => index > 0 && day !== (lows[index - 1]?.day ?? 0) + 1)
    expect(gaps).toHaveLength(1)
  })

  it('claims of the shops - some falls are equal, some larger, some smaller, some claims are contradicted', () => {
    const counts = { equal: 0, larger: 0, smaller: 0, contradicted: 0 }
    for (const channel of SAMPLE.channels)
      for (const claim of listClaims(channel)) counts[judgeClaim(claim)] += 1
    expect(Object.values(counts).every((count) => count >= 10)).toBe(true)
  })

  it('shop that was away for two weeks - no days in between, and no price at the end of the last day', () => {
    const runs = createSampleHistory(SAMPLE.channels[0], TODAY)
    const isAway = (day: number): boolean => day >= TODAY - 92 && day <= TODAY - 79
    const away = runs.filter(({ merchantKey }) => merchantKey === 'hearthline')
    expect(away.some(({ day, untilDay }) => isAway(day) || isAway(untilDay))).toBe(false)
    const left = away.filter(({ last }) => last === null)
    expect(left.length).toBeGreaterThan(0)
    expect(new Set(left.map(({ untilDay }) => untilDay))).toEqual(new Set([TODAY - 93]))
  })

  it('second start, also days later - nothing is imported again', async () => {
    const { store, add, passDays } = await createFixture()
    await add()
    const page = await store.readHistoryPage(SHOWCASE.channelId, '')
    passDays(3)
    await add()
    expect(await store.readHistoryPage(SHOWCASE.channelId, '')).toEqual(page)
  })

  it.each(['own', 'empty'] as const)('catalog content %s - nothing is imported', async (content) => {
    const { store, add } = await createFixture()
    await add(content)
    expect(await store.listCopiedChannels()).toEqual([])
  })

  it('no kept days - nothing is imported', async () => {
    const { store, add } = await createFixture({ VITRINE_HISTORY_DAYS: '0' })
    await add()
    expect(await store.listCopiedChannels()).toEqual([])
  })

  it('store that cannot be opened - a warning, and no error', async () => {
    const { store, add, path, logs } = await createFixture()
    await store.close()
    writeFileSync(path, 'not a database')
    await add()
    expect(logs()).toContain('sample price history could not be stored')
  })
})

type Claim = Readonly<{ price: number; oldPrice: number; days: readonly ObservedDay[] }>

/** List the offers of a channel that have a former price, with the days on which their price was observed. */
function listClaims(channel: (typeof SAMPLE.channels)[number]): readonly Claim[] {
  const runs = createSampleHistory(channel, TODAY)
  return SAMPLE.products.flatMap(({ gtin, offers }) =>
    offers.flatMap(({ shop, currency, price: priceText, oldPrice }) => {
      const series = runs.filter(
        (run) => run.gtin === gtin && run.currency === currency && run.merchantKey === foldCase(shop),
      )
      const price = toObservedPrice(priceText) ?? 0
      if (oldPrice === undefined || series.length === 0) return []
      const days = addPresentPrice(listObservedDays(series, []), price, TODAY)
      return { price, oldPrice: toObservedPrice(oldPrice) ?? 0, days }
    }),
  )
}

function judgeClaim({ price, oldPrice, days }: Claim): 'equal' | 'larger' | 'smaller' | 'contradicted' {
  const fall = findFall(days, price)
  if (fall === null) return 'contradicted'
  if (fall === oldPrice) return 'equal'
  return fall > oldPrice ? 'larger' : 'smaller'
}
