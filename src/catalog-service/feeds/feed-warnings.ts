import { sql } from 'kysely'
import {
  type FeedState,
  type FeedStatus,
  type FeedReport,
  type FeedWarning,
  describeReasons,
} from '../../catalog/feed-report.ts'
import { SECOND_MS } from '../../clock.ts'
import { FeedHeldError } from '../../errors.ts'
import { formatNumber, pluralize, toShellWord } from '../../lib/format.ts'
import { REJECTED_MARK } from '../import/import-feed.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import {
  type FeedAttempt,
  computeNextRunMs,
  fetchFeedAttempts,
  isFeedQuiet,
  isFeedStale,
} from '../store/feed-attempts.ts'
import { type Feed, fetchFeeds } from '../store/feeds.ts'
import type { Catalog } from '../store/schema.ts'
import { describeFeedAddress } from './feed-address.ts'
import { ADDRESS_MARK, PAUSE_MARK } from './fetch-feed.ts'

type StateStore = Pick<CatalogStore, 'read' | 'usage' | 'clock'>

export async function fetchFeedStates(
  store: StateStore,
  { priceMaxAgeSeconds }: Readonly<{ priceMaxAgeSeconds: number }>,
): Promise<readonly FeedState[]> {
  const attempts = await fetchFeedAttempts(store)
  return (await store.read(fetchFeeds)).map((feed): FeedState => {
    const attempt = attempts.get(feed.id)
    const { name, channelId, format, network, merchant, everySeconds, maxRemovedPercent, fetchedAtMs } = feed
    const maxAgeMs = priceMaxAgeSeconds * SECOND_MS
    return {
      name,
      status: findStatus(feed, attempt),
      channelId,
      address: feed.url === null ? null : describeFeedAddress(feed.url),
      format,
      network,
      merchant,
      currency: feed.currency,
      decimal: feed.decimal,
      encoding: feed.encoding,
      everySeconds,
      maxRemovedPercent,
      fetchedAtMs,
      attemptedAtMs: attempt?.attemptedAtMs ?? fetchedAtMs,
      nextRunAtMs: computeNextRunMs(feed, attempt),
      rows: feed.rowCount,
      products: feed.productCount,
      offers: feed.offerCount,
      rejected: feed.rejectedCount,
      removed: feed.removedCount,
      rejectedRows: feed.rejectedRowCount,
      topReasons: feed.topReasons,
      rejectsPath: feed.rejectsPath,
      ...findFailure(attempt),
      isQuiet: isFeedQuiet(feed, store.clock),
      isStale: isFeedStale(feed, attempt, store.clock),
      isTooOld: feed.offerCount > 0 && fetchedAtMs !== null && store.clock.nowMs() - fetchedAtMs > maxAgeMs,
    }
  })
}

function findStatus(feed: Feed, attempt: FeedAttempt | undefined): FeedStatus {
  if (attempt?.isRunning === true) return 'running'
  if (attempt?.errorCode === FeedHeldError.code) return 'held'
  if (attempt !== undefined && attempt.error !== null) return 'failed'
  return feed.fetchedAtMs === null ? 'new' : 'ok'
}

/** A run in progress is recorded as interrupted until it ends. */
function findFailure(attempt: FeedAttempt | undefined): Pick<FeedState, 'errorCode' | 'error'> {
  if (attempt === undefined || attempt.isRunning) return { errorCode: null, error: null }
  return { errorCode: attempt.errorCode, error: attempt.error }
}

/** Shops that are compared with others; more would make `vitrine check` slow. */
const MAX_COMPARED_SHOPS = 1_000

/** Offers of a shop that are compared, and how many of them another shop must have, too. */
const COMPARED_OFFERS = 100
const MIN_COMPARED_OFFERS = 5
const SAME_SHOP_PERCENT = 90

/** Names listed in a message. */
const MAX_NAMES = 3

/** Return the feeds of a catalog, and with `hasWarnings` what needs an operator. */
export async function readFeedReport(
  store: Pick<CatalogStore, 'read' | 'usage' | 'clock'>,
  { priceMaxAgeSeconds, hasWarnings }: Readonly<{ priceMaxAgeSeconds: number; hasWarnings: boolean }>,
): Promise<FeedReport> {
  const feeds = await fetchFeedStates(store, { priceMaxAgeSeconds })
  return { feeds, warnings: hasWarnings ? await findFeedWarnings(store.read, feeds) : [] }
}

type Read = CatalogStore['read']

/** Each statement is a read of its own, because a server limits the time of a read. */
async function findFeedWarnings(read: Read, states: readonly FeedState[]): Promise<readonly FeedWarning[]> {
  if (states.length === 0) return []
  return [
    ...states.flatMap((state) => describeState(state)),
    ...(await read(findHiddenNetworks)),
    ...(await read(findUntrackedNetworks)),
    ...(await findShopWarnings(read)),
  ]
}

/** Find shops whose links earn nothing, and shops that readers see twice. */
export async function findShopWarnings(read: Read): Promise<readonly FeedWarning[]> {
  return [...(await read(findMissingReferences)), ...(await findDoubledShops(read))]
}

function describeState(state: FeedState): readonly FeedWarning[] {
  const problems = [findFeedProblem(state), findRejectsProblem(state)]
  return problems.flatMap((problem) =>
    problem === undefined ? [] : [{ subject: `feed ${state.name}`, ...problem }],
  )
}

/** More rejected rows than this are a change of the feed rather than its usual faults. */
const MAX_REJECTED_ROWS_PERCENT = 10

function findRejectsProblem(state: FeedState): Omit<FeedWarning, 'subject'> | undefined {
  const { rows, rejectedRows, topReasons, rejectsPath } = state
  if (rejectedRows * 100 <= rows * MAX_REJECTED_ROWS_PERCENT) return undefined
  const reasons = describeReasons(topReasons).join('; ')
  const file = rejectsPath === null ? '' : `; see ${rejectsPath}`
  return {
    message: `${formatNumber(rejectedRows)} of ${pluralize(rows, 'row')} are ${REJECTED_MARK} ${reasons}${file}`,
    remedy: findSettingRemedy(state, reasons) ?? toTryCommand(state),
  }
}

/** Placeholders of the options that a message may name. */
const PLACEHOLDERS = {
  currency: 'CODE',
  decimal: 'SIGN',
  encoding: 'NAME',
  merchant: 'NAME',
  format: 'NAME',
  map: 'FILE',
  'header-file': 'FILE',
} as const

/** Return the command for the first option that a message names; `undefined` without one. */
function findSettingRemedy({ name, address }: FeedState, message: string): string | undefined {
  const options = Object.entries(PLACEHOLDERS).flatMap(([option, placeholder]) => {
    const at = message.search(new RegExp(`--${option}\\b`))
    return at === -1 ? [] : [{ at, text: `--${option} ${placeholder}` }]
  })
  const [first] = options.toSorted((one, other) => one.at - other.at)
  const command = address === null ? `import FILE --feed ${name}` : `feeds set ${name}`
  return first && `vitrine catalog ${command} ${first.text}`
}

function findFeedProblem(state: FeedState): Omit<FeedWarning, 'subject'> | undefined {
  const { name, channelId } = state
  if (channelId === null)
    return {
      message: 'its channel was removed, so it does not run',
      remedy: `vitrine catalog feeds set ${name} --channel ID`,
    }
  const failure = describeFailure(state)
  if (failure !== undefined) return failure
  if (!state.isTooOld) return undefined
  return {
    message: 'its last import is so old that its prices are not shown',
    remedy: state.address === null ? `vitrine catalog import FILE --feed ${name}` : toRunCommand(name),
  }
}

function describeFailure(state: FeedState): Omit<FeedWarning, 'subject'> | undefined {
  const { status, error } = state
  const reason = error === null ? '' : `: ${error}`
  const age = state.isTooOld ? '; its prices are too old to be shown' : ''
  const remedy = findFailureRemedy(state, error ?? '')
  if (status === 'held')
    return { message: `held${reason}; accept it only if the feed is right${age}`, remedy }
  if (state.isQuiet) return { message: `no successful run for two intervals${reason}${age}`, remedy }
  return status === 'failed' ? { message: `the last run failed${reason}${age}`, remedy } : undefined
}

function findFailureRemedy(state: FeedState, error: string): string {
  const { name, status } = state
  const settingRemedy = findSettingRemedy(state, error)
  if (settingRemedy !== undefined) return settingRemedy
  if (error.includes(ADDRESS_MARK)) return `vitrine catalog feeds set ${name} --url URL`
  if (error.includes(REJECTED_MARK)) return toTryCommand(state)
  if (status === 'held') return `${toRunCommand(name)} --accept`
  return error.includes(PAUSE_MARK) ? 'vitrine catalog feeds list' : toRunCommand(name)
}

function toTryCommand({ name, address }: FeedState): string {
  return `vitrine catalog feeds try ${address === null ? 'FILE' : name}`
}

function toRunCommand(name: string): string {
  return `vitrine catalog feeds run ${name}`
}

type HiddenNetwork = Readonly<{
  network: string
  feed: string
  channelId: string
  isAssigned: number
}>

/** Networks whose offers a channel does not show: it has no network channel, or the template needs its publisher reference. */
async function findHiddenNetworks(database: Catalog): Promise<readonly FeedWarning[]> {
  const { rows } = await sql<HiddenNetwork>`
    select n.name as network, min(f.name) as feed, f.channel_id as "channelId",
      max(case when nc.id is null then 0 else 1 end) as "isAssigned"
    from feed_shops s join feeds f on f.id = s.feed_id join networks n on n.id = s.network_id
      left join network_channels nc on nc.network_id = n.id and nc.channel_id = f.channel_id
    where f.channel_id is not null and (nc.id is null or (nc.reference = '' and s.is_page = 1
      and n.link_template <> replace(n.link_template, '{publisher}', '')))
    group by n.name, f.channel_id order by n.name, f.channel_id`.execute(database)
  return rows.map(({ network, feed, channelId, isAssigned }) => ({
    subject: `network ${network}`,
    message:
      isAssigned === 1
        ? `its offers (feed ${feed}) are not shown, because its link template needs your publisher reference`
        : `its offers (feed ${feed}) are not shown, because the channel has no network channel of it`,
    remedy: `vitrine catalog networks assign ${toShellWord(network)} --channel ${channelId}${isAssigned === 1 ? ' --publisher REFERENCE' : ''}`,
  }))
}

/** Set a template, which docs/operate/catalog-service.md#link-templates lists for some networks. */
export function toTemplateCommand(network: string): string {
  return `vitrine catalog networks set ${toShellWord(network)} --template "https://…{merchant}…{publisher}…{url}"`
}

/** Pages of a network without a template: their clicks earn nothing. */
async function findUntrackedNetworks(database: Catalog): Promise<readonly FeedWarning[]> {
  const { rows } = await sql<{ network: string; shops: number }>`
    select n.name as network, count(distinct s.merchant_id) as shops
    from feed_shops s join networks n on n.id = s.network_id
    where s.is_page = 1 and s.feed_id <> 0 and n.link_template is null group by n.name order by n.name`.execute(
    database,
  )
  return rows.map(({ network, shops }) => ({
    subject: `network ${network}`,
    message: `links of ${pluralize(shops, 'shop')} lead to the shops' own pages and earn no commission, because the network has no link template; see docs/operate/catalog-service.md#link-templates`,
    remedy: toTemplateCommand(network),
  }))
}

/** Shops whose name is in the link, where the network's template expects its own id of them. */
async function findMissingReferences(database: Catalog): Promise<readonly FeedWarning[]> {
  const { rows } = await sql<{ network: string; shop: string }>`
    select distinct n.name as network, m.name as shop
    from feed_shops s join networks n on n.id = s.network_id join merchants m on m.id = s.merchant_id
      left join network_merchants nm on nm.network_id = s.network_id and nm.merchant_id = s.merchant_id
    where s.is_page = 1 and s.feed_id <> 0 and nm.reference is null
      and n.link_template <> replace(n.link_template, '{merchant}', '')
    order by n.name, m.name`.execute(database)
  const shopsByNetwork = new Map<string, string[]>()
  for (const { network, shop } of rows) {
    const shops = shopsByNetwork.get(network) ?? []
    shops.push(shop)
    shopsByNetwork.set(network, shops)
  }
  return [...shopsByNetwork].map(([network, shops]) => ({
    subject: `network ${network}`,
    message: `${pluralize(shops.length, 'shop')} without the network's reference, so their names are in the links: ${listNames(shops)}`,
    remedy: `vitrine catalog merchants set ${toShellWord(shops[0] ?? '')} --network ${toShellWord(network)} --reference ID`,
  }))
}

function listNames(names: readonly string[]): string {
  const more = names.length - MAX_NAMES
  const listed = names.slice(0, MAX_NAMES).map((name) => `"${name}"`)
  return [...listed, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

/** Of the two directions of a pair, keep the one that removes a shop that is named after its host. */
function isKept({ shop, other }: ShopPair): boolean {
  return isHostName(shop) === isHostName(other) ? shop < other : isHostName(other)
}

function isHostName(shop: string): boolean {
  return /^[a-z0-9.-]+\.[a-z]{2,}$/.test(shop)
}

type ShopPair = Readonly<{
  shop: string
  other: string
  feed: string
  otherFeed: string
  channelId: string | null
}>

/** One shop under two names: readers see it twice. */
async function findDoubledShops(read: Read): Promise<readonly FeedWarning[]> {
  const pairs: ShopPair[] = []
  for (const shop of await read(fetchComparedShops))
    pairs.push(...(await read((database) => findDoubles(database, shop))))
  return pairs
    .filter(
      (pair) => isKept(pair) || !pairs.some(({ shop, other }) => shop === pair.other && other === pair.shop),
    )
    .map(({ shop, other, feed, otherFeed, channelId }) => ({
      subject: `shop ${shop}`,
      message: `the shop "${other}" has the same links, so readers see one shop twice (${feed === otherFeed ? `feed ${feed}` : `feeds ${feed} and ${otherFeed}`})`,
      remedy: `vitrine catalog merchants revoke ${toShellWord(other)} --channel ${channelId ?? 'ID'}`,
    }))
}

async function fetchComparedShops(database: Catalog): Promise<readonly ComparedShop[]> {
  const { rows } = await sql<ComparedShop>`
    select distinct s.feed_id as "feedId", s.merchant_id as "merchantId", m.name as shop, f.name as feed,
      f.organization_id as "organizationId", f.channel_id as "channelId"
    from feed_shops s join feeds f on f.id = s.feed_id join merchants m on m.id = s.merchant_id
    order by f.name, m.name limit ${MAX_COMPARED_SHOPS}`.execute(database)
  return rows
}

type ComparedShop = Readonly<{
  feedId: number
  merchantId: number
  shop: string
  feed: string
  organizationId: string
  channelId: string | null
}>

async function findDoubles(
  database: Catalog,
  { feedId, merchantId, shop, feed, organizationId, channelId }: ComparedShop,
): Promise<readonly ShopPair[]> {
  // `cross join` fixes SQLite's join order.
  const { rows } = await sql<{ other: string; otherFeed: string; same: number; compared: number }>`
    with sample as (
      select o.gtin, o.variant from offers o where o.feed_id = ${feedId} and o.merchant_id = ${merchantId}
      limit ${COMPARED_OFFERS})
    select m.name as other, f.name as "otherFeed", count(*) as same, (select count(*) from sample) as compared
    from sample s cross join offers o cross join merchants m cross join feeds f
    where o.gtin = s.gtin and m.id = o.merchant_id and f.id = o.feed_id
      and o.variant = s.variant and o.merchant_id <> ${merchantId} and f.organization_id = ${organizationId}
    group by m.name, f.name`.execute(database)
  return rows
    .filter(
      ({ same, compared }) => compared >= MIN_COMPARED_OFFERS && same * 100 >= compared * SAME_SHOP_PERCENT,
    )
    .map(({ other, otherFeed }) => ({ shop, other, feed, otherFeed, channelId }))
}
