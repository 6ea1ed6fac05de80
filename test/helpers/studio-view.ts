import type { Channel } from '../../src/catalog/contract.ts'
import { createQuotaState } from '../../src/catalog/quota.ts'
import { HOUR_MS } from '../../src/clock.ts'
import type { ObservedPricesData } from '../../src/explain/observed-prices.ts'
import type { ExplanationView } from '../../src/explain/widgets.ts'
import type { FeedReport, FeedState } from '../../src/catalog/feed-report.ts'
import { toDay } from '../../src/offers/price-history.ts'
import { createShopBook } from '../../src/offers/shop-book.ts'
import type { CopyState, DealCounts, ObservedDayCounts } from '../../src/storage/store.ts'
import type { CoverageData } from '../../src/studio/coverage.ts'
import type { StudioData } from '../../src/studio/data.ts'
import type { FeedsData } from '../../src/studio/feeds.ts'
import type { HealthData } from '../../src/studio/health.ts'
import type { WidgetStatus, ListedProduct } from '../../src/studio/product-data.ts'
import {
  type StudioSelection,
  type StudioTab,
  validateOptions,
  parseStudioSelection,
} from '../../src/studio/selection.ts'
import { type StudioView, toStudioView } from '../../src/studio/studio.ts'
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
  hadProducts: true,
  hasProducts: true,
  dealCount: 7,
  drops: {},
  isMalformed: false,
  held: null,
  isRunning: false,
  failure: null,
  failedAtMs: null,
  failureReason: null,
  retry: null,
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
  const report = { period: { fromDay: untilDay - 6, untilDay }, products: [], clickCount: 0 }
  return { channelId: CHANNEL_ID, report, details: new Map(), clicks: [], ...over }
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

/** A box with one shop, a round-up of two products, and a grid with seven cards. */
const BOX: WidgetStatus = {
  kind: 'shown',
  size: {
    layout: 'list',
    shownCount: 1,
    saleCount: 0,
    termsCount: 0,
    isBare: false,
    isFolded: false,
    hasVariants: false,
    isStandIn: false,
    history: 'none',
  },
  isComplete: true,
}
const PICKS: WidgetStatus = {
  kind: 'shown',
  size: { layout: 'rank', productCount: 2, labelCount: 0, foldCount: 2, hasPictures: true },
  isComplete: true,
}
const GRID: WidgetStatus = { kind: 'shown', size: { layout: 'grid', cardCount: 7 }, isComplete: true }

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
  products: [],
}

/** The explanation of a product of a widget with several. */
const makeProductExplanation = (
  gtin: string,
  over: Partial<ExplanationView['products'][number]> = {},
): ExplanationView['products'][number] => ({
  gtin,
  title: makeProduct().title,
  role: 'number 1',
  isShown: true,
  outcome: 'shown with 1 offer',
  remedy: null,
  facts: [{ label: 'GTIN', value: gtin }],
  offers: EXPLANATION.offers.slice(0, 1),
  ...over,
})

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
  currency: null,
  decimal: null,
  encoding: null,
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
  rejectedRows: 9,
  topReasons: [['condition: the condition "gebraucht", "B-Ware", "demo" … is not known to mean new', 9]],
  rejectsPath: '/var/lib/vitrine/data/catalog-feeds/kopje.rejects',
  errorCode: null,
  error: null,
  isQuiet: false,
  isStale: false,
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

type TabData = Pick<
  StudioData,
  | 'matches'
  | 'product'
  | 'gtin'
  | 'boxList'
  | 'picksList'
  | 'widgetStatus'
  | 'counts'
  | 'explanation'
  | 'observedPrices'
>

const NO_TAB_DATA: TabData = {
  matches: [],
  product: null,
  gtin: null,
  boxList: null,
  picksList: [],
  widgetStatus: null,
  counts: null,
  explanation: null,
  observedPrices: null,
}

const toListed = (gtin: string): ListedProduct => ({ gtin, product: makeProduct({ gtin }) })

/** `product`: the chosen one; `null`: none. */
function makeBoxData({ box }: StudioSelection, product: StudioData['product']): TabData {
  const { variants, standIns } = box
  const others = [...variants, ...standIns]
  const gtins = others.length === 0 ? [] : [makeProduct().gtin, ...others]
  const products = gtins.map((gtin) => makeProductExplanation(gtin))
  return {
    ...NO_TAB_DATA,
    matches: [makeProduct()],
    product,
    gtin: product?.gtin ?? null,
    boxList: { variants: variants.map(toListed), standIns: standIns.map(toListed), matches: [] },
    widgetStatus: product === null ? null : BOX,
    explanation: gtins.length === 0 ? EXPLANATION : { ...EXPLANATION, offers: [], products },
    observedPrices: OBSERVED_PRICES,
  }
}

function makePicksData({ picks }: StudioSelection): TabData {
  const products = picks.map(({ gtin }) => makeProductExplanation(gtin))
  return {
    ...NO_TAB_DATA,
    matches: [makeProduct()],
    picksList: picks.map(({ gtin }) => toListed(gtin)),
    widgetStatus: picks.length < 2 ? null : PICKS,
    explanation: picks.length === 0 ? null : { ...EXPLANATION, offers: [], products },
  }
}

function makeTabData(selection: StudioSelection, product: StudioData['product']): TabData {
  switch (selection.tab) {
    case 'where-to-buy':
      return makeBoxData(selection, product)
    case 'picks':
      return makePicksData(selection)
    case 'deals':
      return { ...NO_TAB_DATA, widgetStatus: GRID, counts: COUNTS }
    default:
      return NO_TAB_DATA
  }
}

/** Create the studio's data for a query string: one channel, a lamp with one offer, and seven deals. Every listed product is a lamp. */
export function makeStudioData(query = '', over: Partial<StudioData> = {}): StudioData {
  const selection = makeSelection(query)
  const defaults = { locale: 'en', currency: null }
  return {
    publicUrl: 'https://widgets.example',
    pictures: null,
    shops: createShopBook([]),
    studioUrl: 'https://widgets.example/studio',
    defaults,
    openForms: { data: true, mail: true },
    pinnedScript: { url: 'https://widgets.example/assets/embed.00000000.js', integrity: 'sha384-abc' },
    styles: ['/assets/studio.00000000.css'],
    studioScript: '/assets/studio.00000000.js',
    loaderScript: '/embed.js',
    isSample: false,
    channels: [CHANNEL],
    channel: CHANNEL,
    selection,
    validated: validateOptions(selection.tab, selection.rawOptions, defaults),
    state: WALKED_COPY,
    ...makeTabData(selection, over.product === undefined ? makeProduct() : over.product),
    evidence: null,
    hasFeeds: true,
    ...makeReports(selection.tab),
    ...over,
  }
}

/** Create the studio view for a query string. */
export const makeStudio = (query = '', over: Partial<StudioData> = {}): StudioView =>
  toStudioView(makeStudioData(query, over))
