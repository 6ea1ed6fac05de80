import type { Context } from '../context.ts'
import {
  type CoveredProduct,
  type CoverageReport,
  type ProductDetails,
  type SupplyState,
  readCoverageReport,
  readProductDetails,
  sumPlacements,
} from '../coverage/report.ts'
import { formatNumber, joinFirst, pluralize } from '../lib/format.ts'
import { type PlacementClicks, sumStates } from '../storage/counts.ts'
import { formatDay } from '../widgets/format.ts'
import { withQuery } from '../widgets/options.ts'

/** An editor who has repaired a page should not see it for long. */
const COVERAGE_DAYS = 7

/** The most requested products that the page checks. */
const MAX_PRODUCTS = 2_000

/** Products of one state that are listed. */
const MAX_LISTED = 50

/** The most requested placements of listed products that are read. */
const MAX_PLACEMENTS = 20_000

/** Rows of clicks that are listed. */
const MAX_LISTED_CLICKS = 20

/** Placements that are named; the others are counted. */
const MAX_NAMED = 4

/** States of the page in its order. */
const PROBLEMS = ['hidden', 'sold_out', 'one_shop'] as const satisfies readonly SupplyState[]
type Problem = (typeof PROBLEMS)[number]

export type CoverageData = Readonly<{
  channelId: string
  report: CoverageReport
  /** Of the listed products. */
  details: ReadonlyMap<string, ProductDetails>
  /** By product, merchant and placement, the most first. */
  clicks: readonly PlacementClicks[]
}>

/** Read what was counted for a channel, without calling the catalog. */
export async function readCoverageData(
  { store, clock, shopFile }: Context,
  channelId: string,
): Promise<CoverageData> {
  const parts = { store, clock, shops: shopFile.book }
  const report = await readCoverageReport(parts, channelId, { days: COVERAGE_DAYS, limit: MAX_PRODUCTS })
  const products = PROBLEMS.flatMap((state) => listProducts(report, state).slice(0, MAX_LISTED))
  const details = await readProductDetails(parts, channelId, {
    period: report.period,
    products,
    limit: MAX_PLACEMENTS,
  })
  const clicks = await store.listClicks(channelId, { ...report.period, limit: MAX_LISTED_CLICKS })
  return { channelId, report, details, clicks }
}

function listProducts({ products }: CoverageReport, state: Problem): readonly CoveredProduct[] {
  return products.filter((product) => product.state === state)
}

const HEADINGS: Readonly<Record<Problem, string>> = {
  hidden: 'Empty boxes',
  sold_out: 'Out of stock',
  one_shop: 'One shop left',
}

const ADVICE: Readonly<Record<Problem, string>> = {
  hidden:
    'No shop sells these products. Their boxes show a stand-in, or nothing: name another product, or remove the box.',
  sold_out: 'Shops list these products, but none has them in stock.',
  one_shop: 'When this shop stops, the box is empty or sold out.',
}

/** Build the view of the coverage tab. `notice` is shown while nothing was counted. */
export function toCoverageView({ channelId, report, details, clicks }: CoverageData) {
  const { products } = report
  return {
    notice: products.length === 0 ? EMPTY_NOTICE : null,
    days: COVERAGE_DAYS,
    lines: products.length === 0 ? [] : toLines(report, details),
    sections: PROBLEMS.map((state) =>
      toSection(listProducts(report, state), state, { channelId, details }),
    ).filter(({ rows }) => rows.length > 0),
    clicks: clicks.map(({ gtin, merchant, sub, clicks: count }) => ({
      gtin,
      merchant,
      placement: nameSub(sub),
      count: formatNumber(count),
      href: toProductHref(channelId, gtin),
    })),
  }
}

function toProductHref(channelId: string, gtin: string): string {
  return withQuery('studio', new URLSearchParams({ channel: channelId, gtin }))
}

const EMPTY_NOTICE = `Nothing was counted in the last ${COVERAGE_DAYS} days. Each box that a page loads from this server will count for its product, its placement (the option sub) and the day. Nothing about visitors is kept: no address, no browser, no time of day.`

function toLines(report: CoverageReport, details: CoverageData['details']) {
  const { products, clickCount } = report
  const countOf = (state: SupplyState): number => products.filter((one) => one.state === state).length
  const requests = products.reduce((sum, product) => sum + sumStates(product), 0)
  const hidden = listProducts(report, 'hidden')
  const problem = (state: Problem, label: string, remedy: string | null) => ({
    label,
    value: countOf(state) === 0 ? 'none' : pluralize(countOf(state), 'product'),
    isHealthy: state !== 'hidden' || countOf(state) === 0,
    remedy,
  })
  const limit = products.length === MAX_PRODUCTS ? '; only these are checked' : ''
  return [
    {
      label: 'Asked for',
      value: `${pluralize(products.length, 'product')}, ${pluralize(requests, 'time')}${limit}`,
      isHealthy: true,
      remedy: null,
    },
    problem('hidden', 'Empty now', describeEmptyPlacements(hidden, details)),
    problem('sold_out', 'Out of stock', null),
    problem('one_shop', 'One shop left', null),
    ...(clickCount === 0
      ? []
      : [{ label: 'Clicks', value: formatNumber(clickCount), isHealthy: true, remedy: null }]),
  ]
}

/** Name the placements with the most empty boxes; `null` for none. */
export function describeEmptyPlacements(
  hidden: readonly CoveredProduct[],
  details: ReadonlyMap<string, ProductDetails>,
): string | null {
  const names = sumPlacements(hidden, details).map(
    ({ sub, emptyProducts }) => `${nameSub(sub)} (${emptyProducts})`,
  )
  return names.length === 0 ? null : `These placements show them: ${joinFirst(names, MAX_NAMED)}.`
}

/** Name a placement. */
export function nameSub(sub: string): string {
  return sub === '' ? 'without a placement id' : sub
}

/** Describe in a few words what shops offer of a product now. */
export function describeSupply(
  { state, shops }: Pick<CoveredProduct, 'state' | 'shops'>,
  lastSoldDay: number | null,
): string {
  const names = joinFirst(shops, MAX_NAMED)
  switch (state) {
    case 'hidden':
      return lastSoldDay === null ? 'no shop' : `no shop, last sold ${formatDate(lastSoldDay)}`
    case 'sold_out':
      return `out of stock at ${names}`
    case 'one_shop':
      return `only ${names}`
    default:
      return names
  }
}

/** With plain spaces: commands print it, too. */
export function formatDate(day: number): string {
  return formatDay(day, 'en', 'short-with-year').replaceAll('\u00A0', ' ')
}

/** Name the placements of a product, the most first. */
export function describePlacements(placements: ProductDetails['placements']): string {
  return joinFirst(
    placements.map(({ sub }) => nameSub(sub)),
    MAX_NAMED,
  )
}

function toSection(
  products: readonly CoveredProduct[],
  state: Problem,
  { channelId, details }: Pick<CoverageData, 'channelId' | 'details'>,
) {
  const listed = products.slice(0, MAX_LISTED)
  return {
    heading: HEADINGS[state],
    advice: ADVICE[state],
    isHealthy: state !== 'hidden',
    more: products.length - listed.length,
    rows: listed.map((product) => {
      const { lastSoldDay = null, placements = [] } = details.get(product.gtin) ?? {}
      return {
        gtin: product.gtin,
        title: product.title,
        href: toProductHref(channelId, product.gtin),
        supply: describeSupply(product, lastSoldDay),
        placements: describePlacements(placements),
        shown: formatNumber(product.shown),
        empty: formatNumber(product.hidden),
        clicks: formatNumber(product.clicks),
      }
    }),
  }
}
