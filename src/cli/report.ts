import { isServed } from '../config/config.ts'
import type { Channel } from '../catalog/contract.ts'
import {
  type CoveredProduct,
  type CoverageReport,
  type PlacementSummary,
  type ProductDetails,
  SUPPLY_STATES,
  readCoverageReport,
  readProductDetails,
  sumPlacements,
} from '../coverage/report.ts'
import { UsageError } from '../errors.ts'
import { formatNumber, pluralize } from '../lib/format.ts'
import type { PlacementClicks } from '../storage/counts.ts'
import { KEPT_COUNT_DAYS } from '../storage/count-writer.ts'
import {
  describeEmptyPlacements,
  describePlacements,
  describeSupply,
  formatDate,
  nameSub,
} from '../studio/coverage.ts'
import { type CommandContext, print } from '../command.ts'
import { formatIsoDay, toCsvCell } from './csv.ts'
import { type ContextWithCatalog, openContext } from './open-catalog.ts'

/** What a report lists. `problems`: products that are hidden, sold out, or have one shop left. */
export type ReportList = 'problems' | 'products' | 'placements' | 'clicks'

export type ReportOptions = Readonly<{ channel?: string; days: string; list: ReportList; csv?: boolean }>

/** The most requested products of a channel that are read. */
const MAX_PRODUCTS = 100_000

const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** Rows of each list that people read; `--json` and `--csv` have all. */
const MAX_LINES = 30

type ChannelReport = CoverageReport &
  Readonly<{
    channel: Channel
    /** Of the products that the list needs. */
    details: ReadonlyMap<string, ProductDetails>
    /** Empty unless they are listed. */
    clicks: readonly PlacementClicks[]
    /** Of listed placements. */
    clicksBySub: ReadonlyMap<string | null, number>
  }>

/** Parse the number of days. @throws UsageError */
function parseDays(text: string): number {
  const days = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (days < 1 || days > KEPT_COUNT_DAYS)
    throw new UsageError(
      `--days is a number from 1 to ${KEPT_COUNT_DAYS}: counts are kept for that many days`,
    )
  return days
}

/** Print what was asked for, and what editors can act on. @throws UsageError for an unknown channel; StoreError. */
export async function runReport(command: CommandContext, options: ReportOptions): Promise<void> {
  if (command.isJson && options.csv === true) throw new UsageError('use either --json or --csv')
  const days = parseDays(options.days)
  const context = await openContext(command, { walkRunner: null })
  // One more than people read, so that the text says that there are more.
  const maxClicks = command.isJson || options.csv === true ? NO_LIMIT : MAX_LINES + 1
  try {
    const reports: ChannelReport[] = []
    for (const channel of await listReportedChannels(context, options.channel))
      reports.push(await readReport(context, channel, { days, list: options.list, maxClicks }))
    if (options.csv === true) for (const line of toCsv(reports, options.list)) command.io.out(line)
    else
      print(
        command,
        { days, channels: reports.map((report) => toJson(report, options.list)) },
        toText(reports, options.list),
      )
  } finally {
    await context.dispose()
  }
}

async function listReportedChannels(
  { store, config }: ContextWithCatalog,
  channelId: string | undefined,
): Promise<readonly Channel[]> {
  const list = await store.findChannelList()
  const served = (list?.channels ?? []).filter(({ id }) => isServed(config, id))
  if (channelId === undefined) return served
  const channel = served.find(({ id }) => id === channelId)
  if (channel === undefined) throw new UsageError(`the stored copy has no channel ${channelId}`)
  return [channel]
}

async function readReport(
  { store, clock, shopFile }: ContextWithCatalog,
  channel: Channel,
  { days, list, maxClicks }: Readonly<{ days: number; list: ReportList; maxClicks: number }>,
): Promise<ChannelReport> {
  const parts = { store, clock, shops: shopFile.book }
  const report = await readCoverageReport(parts, channel.id, { days, limit: MAX_PRODUCTS })
  const { period } = report
  const nothing = {
    ...report,
    channel,
    details: NO_DETAILS,
    clicks: [],
    clicksBySub: new Map<null, number>(),
  }
  if (list === 'clicks')
    return { ...nothing, clicks: await store.listClicks(channel.id, { ...period, limit: maxClicks }) }
  const products = list === 'problems' ? report.products.filter(isProblem) : report.products
  const details = await readProductDetails(parts, channel.id, { period, products, limit: NO_LIMIT })
  if (list !== 'placements') return { ...nothing, details }
  const keys = sumPlacements(products, details).map(({ sub }) => sub)
  return {
    ...nothing,
    details,
    clicksBySub: await store.sumClicks(channel.id, { ...period, by: 'sub', keys }),
  }
}

const NO_DETAILS: ReadonlyMap<string, ProductDetails> = new Map()

const isProblem = ({ state }: CoveredProduct): boolean => state !== 'sold'

type Row = Readonly<Record<string, string | number | readonly string[] | null>>

/** List the rows of a report, with the same columns in each. */
function listRows(report: ChannelReport, list: ReportList): readonly Row[] {
  switch (list) {
    case 'placements':
      return sumPlacements(report.products, report.details).map((one) => toPlacementRow(report, one))
    case 'clicks':
      return report.clicks.map((one) => toClickRow(report, one))
    default:
      return listProducts(report, list).map((product) => toProductRow(report, product))
  }
}

function listProducts({ products }: ChannelReport, list: ReportList): readonly CoveredProduct[] {
  return list === 'problems' ? products.filter(isProblem) : products
}

function toProductRow({ channel, details }: ChannelReport, product: CoveredProduct): Row {
  const { gtin, title, state, shops, shown, hidden, unavailable, clicks } = product
  const { lastSoldDay = null, placements = [] } = details.get(gtin) ?? {}
  return {
    channel: channel.id,
    gtin,
    title,
    state,
    shops,
    last_sold: lastSoldDay === null ? null : formatIsoDay(lastSoldDay),
    shown,
    hidden,
    unavailable,
    clicks,
    placements: placements.flatMap(({ sub }) => (sub === '' ? [] : sub)),
  }
}

function toPlacementRow({ channel, clicksBySub }: ChannelReport, placement: PlacementSummary): Row {
  const { sub, products, emptyProducts, shown, hidden, unavailable } = placement
  return {
    channel: channel.id,
    sub,
    products,
    empty_products: emptyProducts,
    shown,
    hidden,
    unavailable,
    clicks: clicksBySub.get(sub) ?? 0,
  }
}

function toClickRow({ channel }: ChannelReport, { merchant, sub, gtin, clicks }: PlacementClicks): Row {
  return { channel: channel.id, merchant, sub, gtin, clicks }
}

const COLUMNS: Readonly<Record<ReportList, readonly string[]>> = (() => {
  const product = [
    'channel',
    'gtin',
    'title',
    'state',
    'shops',
    'last_sold',
    'shown',
    'hidden',
    'unavailable',
  ]
  const products = [...product, 'clicks', 'placements']
  return {
    problems: products,
    products,
    placements: ['channel', 'sub', 'products', 'empty_products', 'shown', 'hidden', 'unavailable', 'clicks'],
    clicks: ['channel', 'merchant', 'sub', 'gtin', 'clicks'],
  }
})()

function toCsv(reports: readonly ChannelReport[], list: ReportList): readonly string[] {
  const columns = COLUMNS[list]
  const rows = reports.flatMap((report) => listRows(report, list))
  return [columns.join(','), ...rows.map((row) => columns.map((column) => formatCell(row[column])).join(','))]
}

function formatCell(value: Row[string] | undefined): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  return toCsvCell(typeof value === 'string' ? value : value.join('; '))
}

function toJson(report: ChannelReport, list: ReportList) {
  const { channel, period, products } = report
  const totals = { products: products.length, ...sumProducts(products), clicks: report.clickCount }
  const states = SUPPLY_STATES.map((state) => [state, products.filter((one) => one.state === state).length])
  return {
    id: channel.id,
    name: channel.name,
    from: formatIsoDay(period.fromDay),
    until: formatIsoDay(period.untilDay),
    totals,
    states: Object.fromEntries(states) as Record<string, number>,
    [list]: listRows(report, list),
  }
}

function sumProducts(products: readonly CoveredProduct[]) {
  const sums = { shown: 0, hidden: 0, unavailable: 0 }
  for (const { shown, hidden, unavailable } of products) {
    sums.shown += shown
    sums.hidden += hidden
    sums.unavailable += unavailable
  }
  return sums
}

function toText(reports: readonly ChannelReport[], list: ReportList): readonly string[] {
  if (reports.length === 0)
    return [
      'No channel is known yet. Run "vitrine sync" to walk the catalog, or "vitrine check" to find the cause.',
    ]
  return reports.flatMap((report, index) => [...(index === 0 ? [] : ['']), ...describeReport(report, list)])
}

function describeReport(report: ChannelReport, list: ReportList): readonly string[] {
  const { channel, period, products, clickCount } = report
  const days = `${formatDate(period.fromDay)} to ${formatDate(period.untilDay)}`
  if (products.length === 0 && clickCount === 0) return [`${channel.name}, ${days}: nothing was counted.`]
  const { shown, hidden, unavailable } = sumProducts(products)
  return [
    `${channel.name}, ${days}: ${pluralize(products.length, 'product')} asked for.`,
    `Boxes: ${formatNumber(shown)} shown, ${formatNumber(hidden)} empty, ${formatNumber(unavailable)} unavailable.${clickCount === 0 ? '' : ` ${pluralize(clickCount, 'click')}.`}`,
    ...describeList(report, list),
  ]
}

function describeList(report: ChannelReport, list: ReportList): readonly string[] {
  switch (list) {
    case 'placements':
      return limitLines(
        sumPlacements(report.products, report.details).map((one) => describePlacement(report, one)),
      )
    case 'clicks':
      return describeClicks(report)
    case 'products':
      return limitLines(report.products.map((product) => describeProduct(report, product)))
    default:
      return describeProblems(report)
  }
}

function describeClicks({ clicks: rows }: ChannelReport): readonly string[] {
  if (rows.length === 0)
    return ['No click was counted. VITRINE_LINKS=counted counts them; bots are left out.']
  const lines = rows
    .slice(0, MAX_LINES)
    .map(
      ({ merchant, sub, gtin, clicks }) => `  ${formatNumber(clicks)}  ${merchant}, ${nameSub(sub)}, ${gtin}`,
    )
  return rows.length > MAX_LINES ? [...lines, '  … and more; --csv and --json have all'] : lines
}

/** Say first how many products need attention, then which. */
function describeProblems(report: ChannelReport): readonly string[] {
  const { products, details } = report
  const [hidden, soldOut, oneShop] = (['hidden', 'sold_out', 'one_shop'] as const).map((state) =>
    products.filter((product) => product.state === state),
  ) as [CoveredProduct[], CoveredProduct[], CoveredProduct[]]
  const placements = describeEmptyPlacements(hidden, details)
  const groups = [
    {
      of: hidden,
      name: 'No shop',
      text: `${describeBe(hidden.length)} sold by no shop: ${hidden.length === 1 ? 'its' : 'their'} boxes are empty, or show a stand-in.${placements === null ? '' : ` ${placements}`}`,
    },
    { of: soldOut, name: 'Out of stock', text: `${describeBe(soldOut.length)} out of stock everywhere.` },
    { of: oneShop, name: 'One shop left', text: `${describeBe(oneShop.length)} down to one shop.` },
  ].filter(({ of }) => of.length > 0)
  if (groups.length === 0) return ['Every product is sold by at least two shops.']
  return [
    ...groups.map(({ text }) => text),
    ...groups.flatMap(({ of, name }) => [
      '',
      `${name}:`,
      ...limitLines(of.map((product) => describeProduct(report, product))),
    ]),
  ]
}

const describeBe = (count: number): string => `${pluralize(count, 'product')} ${count === 1 ? 'is' : 'are'}`

function describeProduct({ details }: ChannelReport, product: CoveredProduct): string {
  const { gtin, title, shown, hidden, clicks } = product
  const { lastSoldDay = null, placements = [] } = details.get(gtin) ?? {}
  const counts = `${formatNumber(shown)} shown, ${formatNumber(hidden)} empty${clicks === 0 ? '' : `, ${pluralize(clicks, 'click')}`}`
  const where = placements.length === 0 ? '' : `; ${describePlacements(placements)}`
  return `  ${gtin}${title === null ? '' : `  ${title}`}: ${describeSupply(product, lastSoldDay)}; ${counts}${where}`
}

function describePlacement({ clicksBySub }: ChannelReport, placement: PlacementSummary): string {
  const { sub, products, emptyProducts, shown, hidden } = placement
  const clicks = clicksBySub.get(sub) ?? 0
  return `  ${nameSub(sub)}: ${pluralize(products, 'product')}, ${emptyProducts} of them empty now; ${formatNumber(shown)} shown, ${formatNumber(hidden)} empty${clicks === 0 ? '' : `, ${pluralize(clicks, 'click')}`}`
}

function limitLines(lines: readonly string[]): readonly string[] {
  const more = lines.length - MAX_LINES
  return more > 0
    ? [...lines.slice(0, MAX_LINES), `  … and ${formatNumber(more)} more; --csv and --json have all`]
    : lines
}
