import type { Channel } from '../../catalog/contract.ts'
import { countMalformedOffers } from '../../catalog/parse.ts'
import { isFuture } from '../../clock.ts'
import { type Config, findFrameOriginHint, isServed } from '../../config/config.ts'
import { describeDatabase } from '../../config/database-address.ts'
import { StoreError } from '../../errors.ts'
import { listVisibleChannels } from '../../freshness/age.ts'
import { formatNumber, pluralize } from '../../lib/format.ts'
import type { StoredCopy } from '../../storage/stored-copy.ts'
import type { ChannelList, CopyState } from '../../storage/store.ts'
import { isReadOnly } from '../../database/failures.ts'
import { getNoChannelsRemedy } from '../../explain/product.ts'
import { describeObservedDays } from '../../explain/observed-prices.ts'
import { HOLD_REMEDY, describeHold, describeRetry, describeWalkFailure } from '../../sync/held-walk.ts'
import { readWalkPlan } from '../../sync/walk-schedule.ts'
import { describeWalkPlan, describeWalkProblem } from '../../sync/walk-plan.ts'
import { describeDrops } from '../../widgets/hidden-reasons.ts'
import { formatSince, formatWalkTime } from '../../widgets/format.ts'
import { type CheckReport, findCodeRemedy } from './report.ts'

/** A larger share of malformed products or offers means a broken feed, not a few bad rows. */
const MAX_MALFORMED_SHARE = 0.2

const MALFORMED_REMEDY =
  'Correct the catalog or its feed. The log line of the walk lists GTINs; "vitrine explain CHANNEL GTIN" says what is wrong with one.'

const UNLISTED_REMEDY = 'Remove it from VITRINE_CHANNELS, or correct the id.'

/** `catalogChannels` is `undefined` when the catalog did not respond. */
type ChannelLists = Readonly<{
  catalogChannels: readonly Channel[] | undefined
  storedList: ChannelList | undefined
  store: Pick<StoredCopy, 'getCopyState' | 'countOffers' | 'countObservedDays'> | undefined
  nowMs: number
}>

/** Check the served channels and their copies. Without a list from the catalog, use the channels of the copy. */
export async function checkChannels(report: CheckReport, lists: ChannelLists): Promise<void> {
  const { config } = report
  const channels = selectChannels(report, lists)
  if (channels === undefined) return
  const ids = new Set(channels.map(({ id }) => id))
  const servedIds = config.channels ?? [...ids]
  if (servedIds.length === 0) reportNoChannels(report, lists)
  for (const id of servedIds)
    if (!ids.has(id)) report.addProblem(`channel ${id}`, 'the catalog does not list it', UNLISTED_REMEDY)
  for (const channel of channels) if (isServed(config, channel.id)) await checkChannel(report, lists, channel)
}

/** Return the channels of the catalog, or those of the copy when the catalog did not respond or lists none. */
function selectChannels(
  report: CheckReport,
  { catalogChannels, storedList }: ChannelLists,
): readonly Channel[] | undefined {
  const storedCount = storedList?.channels.length ?? 0
  if (catalogChannels?.length !== 0 || storedCount === 0) return catalogChannels ?? storedList?.channels
  const storedText =
    storedCount === 1
      ? 'the channel that it listed before is'
      : `the ${storedCount} channels that it listed before are`
  report.addProblem('channels', `the catalog lists none for this key; ${storedText} still shown`, HOLD_REMEDY)
  return storedList?.channels
}

function reportNoChannels(report: CheckReport, { storedList, nowMs }: ChannelLists): void {
  const { config } = report
  const areAnyShown =
    storedList !== undefined && listVisibleChannels(storedList, nowMs, config.freshness).length > 0
  const consequence = areAnyShown
    ? '; boxes of the channels that it listed before stay until VITRINE_RESCUE_SECONDS have passed'
    : ', so nothing is shown'
  report.addProblem(
    'channels',
    `the catalog lists none for this key${consequence}`,
    getNoChannelsRemedy(config),
  )
}

/** Check whether walks can keep their schedule. Add no finding without a schedule, or before anything was walked. */
export async function checkWalkPlan(
  report: CheckReport,
  options: Parameters<typeof readWalkPlan>[0],
): Promise<void> {
  const plan = await readWalkPlan(options).catch((error: unknown) => {
    // A copy that cannot be read is another finding.
    if (error instanceof StoreError) return null
    throw error
  })
  if (plan === null) return
  const problem = describeWalkProblem(plan, report.config)
  if (problem === null) report.addOk('walks', describeWalkPlan(plan))
  else if (problem.hidesPrices) report.addProblem('walks', problem.message, problem.remedy)
  else report.addOk('walks', problem.message, problem.remedy)
}

async function checkChannel(
  report: CheckReport,
  { catalogChannels, store, nowMs }: ChannelLists,
  channel: Channel,
): Promise<void> {
  const { config } = report
  const subject = `channel ${channel.name} (${channel.id})`
  const hint = findFrameOriginHint(config, channel)
  if (store === undefined) {
    if (catalogChannels !== undefined) report.addOk(subject, 'listed', hint)
    return
  }
  await report.attempt(subject, async () => {
    const copy = await store.getCopyState(channel.id)
    // When the catalog did not respond, report only channels that were walked.
    if (catalogChannels === undefined && copy.completedAtMs === null && copy.failure === null) return
    const offerCount = countMalformedOffers(copy.drops) > 0 ? await store.countOffers(channel.id) : 0
    const isCatalogListed = catalogChannels !== undefined
    const problem = findCopyProblem(config, { copy, offerCount, isCatalogListed }, nowMs)
    const observedDays = await store.countObservedDays(channel.id)
    const description = [
      describeCopy(copy, nowMs),
      ...(observedDays === null ? [] : [`prices ${describeObservedDays(observedDays)}`]),
    ].join('; ')
    if (problem === null) report.addOk(subject, description, hint)
    else report.addProblem(subject, `${description}${problem.message}`, problem.remedy)
  })
}

function describeCopy({ completedAtMs, productCount, dealCount }: CopyState, nowMs: number): string {
  if (completedAtMs === null) return 'not walked yet'
  const deals = `${formatNumber(dealCount)} with a deal`
  const content = productCount === 0 ? 'no products' : `${pluralize(productCount, 'product')}, ${deals}`
  return `${content}, ${formatWalkTime(completedAtMs, nowMs)}`
}

type CopyProblem = Readonly<{ message: string; remedy: string }>

/** `isCatalogListed`: the catalog has listed its channels, so the address and the key are right. */
type CopyDetails = Readonly<{ copy: CopyState; offerCount: number; isCatalogListed: boolean }>

function findCopyProblem(
  config: Config,
  { copy, offerCount, isCatalogListed }: CopyDetails,
  nowMs: number,
): CopyProblem | null {
  const { held, failure, retry } = copy
  if (held !== null) {
    const sinceText = formatSince(held.sinceMs, nowMs)
    const reason = describeHold(held, copy.productCount)
    return { message: `; a walk is held ${sinceText}, because ${reason}`, remedy: HOLD_REMEDY }
  }
  const malformed = describeMalformed(copy, offerCount)
  if (malformed !== null) return { message: `; ${malformed}`, remedy: MALFORMED_REMEDY }
  const toRemedy = (code: string, reason: string | null): string =>
    findCodeRemedy(code, config, { isCatalogListed, reason }) ?? 'See docs/operate/errors.md.'
  if (failure !== null) {
    const reason = describeWalkFailure(failure, copy.failureReason)
    return { message: `; the last walk ${reason}`, remedy: toRemedy(failure, copy.failureReason) }
  }
  if (retry !== null)
    return { message: `; ${describeRetry(retry)}`, remedy: toRemedy(retry.code, retry.reason) }
  if (!isFuture(copy.completedAtMs ?? 0, nowMs)) return null
  return { message: '', remedy: 'A running server walks it again by itself; otherwise run "vitrine sync".' }
}

/** Return `null` when the last walk found few malformed products and offers. */
function describeMalformed({ productCount, drops }: CopyState, offerCount: number): string | null {
  const products = computeShare(drops.product ?? 0, productCount)
  const share = Math.max(products, computeShare(countMalformedOffers(drops), offerCount))
  if (share <= MAX_MALFORMED_SHARE) return null
  return `${Math.round(share * 100)} % of what the last walk found was malformed: ${describeDrops(drops).join(', ')}`
}

function computeShare(malformed: number, usable: number): number {
  return malformed === 0 ? 0 : malformed / (malformed + usable)
}

const STORED_COPY_SUBJECT = 'stored copy'

const READ_ONLY_REMEDY =
  'Fail over, or point VITRINE_DATABASE_URL to the primary. Until then the stored copy is shown; nothing is refreshed or walked.'

/** Check for damage, and whether the database accepts writes. @throws StoreError when it cannot be read. */
export async function checkStoredCopy(report: CheckReport, store: StoredCopy): Promise<void> {
  const { database } = report.config
  const label = describeDatabase(database)
  const damage = await store.findDamage()
  const remedy = findCodeRemedy(StoreError.code, report.config) ?? ''
  if (damage !== null) return report.addProblem(STORED_COPY_SUBJECT, `${label} is damaged: ${damage}`, remedy)
  if (await isStoreReadOnly(store))
    return report.addProblem(
      STORED_COPY_SUBJECT,
      `${label} opens, but it is read-only, like a standby`,
      READ_ONLY_REMEDY,
    )
  const hasContent = (await store.findChannelList()) !== undefined
  const isUnencrypted =
    database.kind === 'postgres' && database.tls === 'disable' && !isLocalHost(database.host)
  report.addOk(
    STORED_COPY_SUBJECT,
    [
      `${label} opens`,
      ...(hasContent ? [] : ['it has no data of this catalog yet']),
      ...(report.config.history.keptDays === 0 ? ['prices are not recorded (VITRINE_HISTORY_DAYS=0)'] : []),
    ].join('; '),
    isUnencrypted ? 'The connection is not encrypted. Set sslmode=verify-full in its address.' : null,
  )
}

async function isStoreReadOnly(store: StoredCopy): Promise<boolean> {
  try {
    await store.checkWritable()
    return false
  } catch (error) {
    if (isReadOnly(error)) return true
    throw error
  }
}

function isLocalHost(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || host.startsWith('127.')
}
