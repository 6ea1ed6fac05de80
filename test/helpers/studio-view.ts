import type { Channel } from '../../src/catalog/contract.ts'
import { createQuotaState } from '../../src/catalog/quota.ts'
import { HOUR_MS } from '../../src/clock.ts'
import { toDay } from '../../src/offers/price-history.ts'
import { createShopBook } from '../../src/offers/shop-book.ts'
import type { CopyState, DealCounts, ObservedDayCounts } from '../../src/storage/store.ts'
import {
  type StudioSelection,
  type StudioTab,
  validateOptions,
  parseStudioSelection,
} from '../../src/studio/selection.ts'
import type { WidgetStatus, StudioData } from '../../src/studio/data.ts'
import type { FeedReport, FeedState } from '../../src/observability/feed-report.ts'
import type { CoverageData } from '../../src/studio/coverage.ts'
import type { FeedsData } from '../../src/studio/feeds.ts'
import type { HealthData } from '../../src/studio/health.ts'
import { type StudioView, toStudioView } from '../../src/studio/studio.ts'
import type { ObservedPricesData } from '../../src/studio/observed-prices.ts'
import type { ExplanationView } from '../../src/studio/explain.ts'
import { CHANNEL_ID } from './fake-catalog.ts'
import { NOON_MS } from './harness.ts'
import { makeProduct } from './products.ts'

/** The only channel of `makeStudioData`. */
export const CHANNEL: Channel = {
  id: CHANNEL_ID,
  name: 'Magazine',
  kind: 'website',
  url: 'https://magazine.example/',
}

/** A copy whose last walk has just ended, at noon. */
export const WALKED_COPY: CopyState = {
  currentWalk: 3,
  completedAtMs: NOON_MS,
  completedStartedAtMs: NOON_MS - 1_000,
  productCount: 1_236,
  dealCount: 7,
  drops: {},
  isMalformed: false,
  held: null,
  isRunning: false,
  failure: null,
  failedAtMs: null,
}

/** The observed days of the channel. */
export const OBSERVED_DAYS: ObservedDayCounts = { all: 118, imported: 30 }

/** Counts of a grid without filters. */
export const COUNTS: DealCounts = {
  total: 7,
  isBounded: false,
  brands: [
    { name: 'Lumen', count: 4 },
    { name: 'Nordhem', count: 3 },
  ],
  merchants: [
    { name: 'Kopje', count: 5 },
    { name: 'Quillhaven', count: 2 },
  ],
  discounts: [
    { minPercent: 10, count: 6 },
    { minPercent: 50, count: 1 },
  ],
}

/** Parse the selection of a query string. */
export const makeSelection = (query: string): StudioSelection =>
  parseStudioSelection(new URLSearchParams(query))

/** Create the data of a channel of which nothing was counted. */
export function makeCoverageData(over: Partial<CoverageData> = {}): CoverageData {
  const untilDay = toDay(NOON_MS)
  const report = { period: { fromDay: untilDay - 6, untilDay }, products: [], clicks: [] }
  return { channelId: CHANNEL_ID, report, details: new Map(), ...over }
}

/** Create the health data of a healthy server with an hourly walk. */
export function makeHealthData(over: Partial<HealthData> = {}): HealthData {
  return {
    nowMs: NOON_MS,
    isCatalogEmpty: false,
    callPolicy: {
      quota: createQuotaState(NOON_MS),
      limit: undefined,
      remaining: undefined,
      keyRefusedUntilMs: 0,
      breaker: 'closed',
    },
    storeFailure: null,
    isStoreReadOnly: false,
    channels: [{ channel: CHANNEL, state: WALKED_COPY, observedDays: OBSERVED_DAYS }],
    channelCount: 1,
    channelsHeldSinceMs: null,
    delivery: null,
    findWalkPeriodMs: () => HOUR_MS,
    ...over,
  }
}

/** Health data with an unreachable catalog, a full disk and a failed walk. */
export const UNHEALTHY: HealthData = makeHealthData({
  callPolicy: { ...makeHealthData().callPolicy, breaker: 'open' },
  storeFailure: 'disk full',
  channels: [
    {
      channel: CHANNEL,
      state: { ...WALKED_COPY, failure: 'VITRINE_CATALOG_STATUS', drops: { price: 3 } },
      observedDays: OBSERVED_DAYS,
    },
  ],
  channelCount: 60,
})

/** A box with one shop, and a grid with seven cards. */
const BOX: WidgetStatus = {
  kind: 'shown',
  size: {
    layout: 'list',
    shownCount: 1,
    saleCount: 0,
    termsCount: 0,
    isBare: false,
    isFolded: false,
    history: 'none',
  },
}
const GRID: WidgetStatus = { kind: 'shown', size: { layout: 'grid', cardCount: 7 } }

/** The explanation of a box that shows one of two offers. */
const EXPLANATION: ExplanationView = {
  isShown: true,
  summary: 'A box is shown: 1 offer.',
  remedy: null,
  facts: [{ label: 'GTIN', value: makeProduct().gtin }],
  offers: [
    { text: 'Kopje, €49.90, in_stock, brightlink', isShown: true, outcome: 'shown' },
    { text: 'Maison, €45.00, sold_out, brightlink', isShown: false, outcome: 'left out by stock=in' },
  ],
}

const TODAY = toDay(NOON_MS)

/** The lamp at one shop, on 40 days, with a price that fell four days ago. */
export const OBSERVED_PRICES: ObservedPricesData = {
  keptDays: 400,
  today: TODAY,
  series: [
    {
      merchant: 'Kopje',
      merchantKey: 'kopje',
      currency: 'EUR',
      price: 499_000,
      days: Array.from({ length: 40 }, (_, index) => {
        const price = index < 36 ? 599_000 : 499_000
        return { day: TODAY - 39 + index, low: price, last: price, isImported: index < 10 }
      }),
    },
  ],
}

/** A feed that works. */
export const FEED: FeedState = {
  name: 'kopje',
  status: 'ok',
  channelId: CHANNEL.id,
  address: 'https://feeds.example/…',
  format: null,
  network: 'brightlink',
  merchant: null,
  everySeconds: 21_600,
  maxRemovedPercent: 50,
  fetchedAtMs: NOON_MS - HOUR_MS,
  attemptedAtMs: NOON_MS - HOUR_MS,
  nextRunAtMs: NOON_MS + 5 * HOUR_MS,
  rows: 1_300,
  products: 1_236,
  offers: 4_649,
  rejected: 12,
  removed: 3,
  errorCode: null,
  error: null,
  isQuiet: false,
  isTooOld: false,
}

export function makeFeedsData(report: Partial<FeedReport> = {}): FeedsData {
  return {
    report: { feeds: [FEED], warnings: [], ...report },
    nowMs: NOON_MS,
    channelNames: new Map([[CHANNEL.id, CHANNEL.name]]),
  }
}

const makeReports = (tab: StudioTab): Pick<StudioData, 'coverage' | 'feeds' | 'health'> => ({
  coverage: tab === 'coverage' ? makeCoverageData() : null,
  feeds: tab === 'feeds' ? makeFeedsData() : null,
  health: tab === 'health' ? makeHealthData() : null,
})

/** Create the studio's data for a query string: one channel, a lamp with one offer, and seven deals. */
export function makeStudioData(query = '', over: Partial<StudioData> = {}): StudioData {
  const selection = makeSelection(query)
  const defaults = { locale: 'en', currency: null }
  const isBox = selection.tab === 'where-to-buy'
  return {
    publicUrl: 'https://widgets.example',
    pictures: null,
    shops: createShopBook([]),
    studioUrl: 'https://widgets.example/studio',
    defaults,
    pinnedScript: { url: 'https://widgets.example/assets/embed.00000000.js', integrity: 'sha384-abc' },
    styles: ['/assets/studio.00000000.css'],
    studioScript: '/assets/studio.00000000.js',
    loaderScript: '/embed.js',
    isSample: false,
    channels: [CHANNEL],
    channel: CHANNEL,
    selection,
    validated: validateOptions(selection.tab, selection.rawOptions, defaults),
    matches: isBox ? [makeProduct()] : [],
    product: isBox ? makeProduct() : null,
    state: WALKED_COPY,
    widgetStatus: { 'where-to-buy': BOX, deals: GRID, coverage: null, feeds: null, health: null }[
      selection.tab
    ],
    counts: selection.tab === 'deals' ? COUNTS : null,
    evidence: null,
    explanation: isBox ? EXPLANATION : null,
    observedPrices: isBox ? OBSERVED_PRICES : null,
    hasFeeds: true,
    ...makeReports(selection.tab),
    ...over,
  }
}

/** Create the studio view for a query string. */
export const makeStudio = (query = '', over: Partial<StudioData> = {}): StudioView =>
  toStudioView(makeStudioData(query, over))
