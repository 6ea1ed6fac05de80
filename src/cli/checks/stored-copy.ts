import type { Channel } from '../../catalog/contract.ts'
import { countMalformedOffers } from '../../catalog/parse.ts'
import { isFuture } from '../../clock.ts'
import { type Config, isServed } from '../../config/config.ts'
import { labelDatabase } from '../../config/database-address.ts'
import { StoreError } from '../../errors.ts'
import { listShown } from '../../freshness/age.ts'
import { pluralize } from '../../lib/plural.ts'
import type { SqlStore } from '../../storage/sql-store.ts'
import type { ChannelList, CopyState } from '../../storage/store.ts'
import { isReadOnly } from '../../storage/unavailable.ts'
import { adviseNoChannels } from '../../studio/explain.ts'
import { HOLD_REMEDY, describeHold } from '../../sync/held-walk.ts'
import { describeDrops } from '../../widgets/hidden-reasons.ts'
import { formatSince, formatWalked } from '../../widgets/format.ts'
import { type Report, findRemedyByCode, findUnframedHint } from './findings.ts'

/** A larger share of malformed products or offers is a broken feed, and not a few bad rows. */
const MAX_MALFORMED_SHARE = 0.2

const MALFORMED_REMEDY =
  'Have the catalog or the feed behind it corrected. The log line of the walk names GTINs; "vitrine explain CHANNEL GTIN" says what is wrong with one.'

const UNLISTED_REMEDY = 'Take it out of VITRINE_CHANNELS, or correct the id.'

/** What the catalog lists now, `undefined` when it did not answer, and what the copy knows. */
type KnownChannels = Readonly<{
  listed: readonly Channel[] | undefined
  stored: ChannelList | undefined
  store: Pick<SqlStore, 'getCopyState' | 'countOffers'> | undefined
  nowMs: number
}>

/** Check the served channels and their copies. Without a list of the catalog, those of the copy. */
export async function checkChannels(report: Report, known: KnownChannels): Promise<void> {
  const { config } = report
  const channels = selectKnown(report, known)
  if (channels === undefined) return
  const ids = new Set(channels.map(({ id }) => id))
  const served = config.channels ?? [...ids]
  if (served.length === 0) reportNone(report, known)
  for (const id of served)
    if (!ids.has(id)) report.bad(`channel ${id}`, 'the catalog does not list it', UNLISTED_REMEDY)
  for (const channel of channels) if (isServed(config, channel.id)) await checkChannel(report, known, channel)
}

/** The channels of the catalog, else those of the copy, also where the catalog lists none any more. */
function selectKnown(report: Report, { listed, stored }: KnownChannels): readonly Channel[] | undefined {
  const keptCount = stored?.channels.length ?? 0
  if (listed?.length !== 0 || keptCount === 0) return listed ?? stored?.channels
  const kept =
    keptCount === 1
      ? 'the channel that it listed before is'
      : `the ${keptCount} channels that it listed before are`
  report.bad('channels', `the catalog lists none for this key; ${kept} still shown`, HOLD_REMEDY)
  return stored?.channels
}

function reportNone(report: Report, { stored, nowMs }: KnownChannels): void {
  const { config } = report
  const isAnyGone = stored !== undefined && listShown(stored, nowMs, config.freshness).length > 0
  const shown = isAnyGone
    ? '; boxes of the channels that it listed before stay until VITRINE_RESCUE_SECONDS have passed'
    : ', so nothing is shown'
  report.bad('channels', `the catalog lists none for this key${shown}`, adviseNoChannels(config))
}

/** No finding where nothing is worth a line. */
async function checkChannel(
  report: Report,
  { listed, store, nowMs }: KnownChannels,
  channel: Channel,
): Promise<void> {
  const { config } = report
  const subject = `channel ${channel.name} (${channel.id})`
  const hint = findUnframedHint(config, channel)
  if (store === undefined) {
    if (listed !== undefined) report.good(subject, 'listed', hint)
    return
  }
  await report.attempt(subject, async () => {
    const copy = await store.getCopyState(channel.id)
    // Where the catalog did not answer, only a channel that was walked is worth a line.
    if (listed === undefined && copy.completedAtMs === null && copy.failure === null) return
    const offerCount = countMalformedOffers(copy.drops) > 0 ? await store.countOffers(channel.id) : 0
    const fault = findFault(config, copy, offerCount, nowMs)
    const walked = describeCopy(copy, nowMs)
    if (fault === null) report.good(subject, walked, hint)
    else report.bad(subject, `${walked}${fault.found}`, fault.cure)
  })
}

function describeCopy({ completedAtMs, productCount, dealCount }: CopyState, nowMs: number): string {
  if (completedAtMs === null) return 'not walked yet'
  const deals = `${dealCount.toLocaleString('en')} with a deal`
  const content = productCount === 0 ? 'no products' : `${pluralize(productCount, 'product')}, ${deals}`
  return `${content}, ${formatWalked(completedAtMs, nowMs)}`
}

/** What is wrong with a copy, and what to do about it. */
type Fault = Readonly<{ found: string; cure: string }>

function findFault(config: Config, copy: CopyState, offerCount: number, nowMs: number): Fault | null {
  const { held, failure } = copy
  if (held !== null) {
    const since = formatSince(held.sinceMs, nowMs)
    const why = describeHold(held, copy.productCount)
    return { found: `; a walk is held ${since}, because ${why}`, cure: HOLD_REMEDY }
  }
  const malformed = describeMalformed(copy, offerCount)
  if (malformed !== null) return { found: `; ${malformed}`, cure: MALFORMED_REMEDY }
  if (failure !== null)
    return {
      found: `; the last walk failed with ${failure}`,
      cure: findRemedyByCode(failure, config) ?? 'See docs/operate/errors.md.',
    }
  if (!isFuture(copy.completedAtMs ?? 0, nowMs)) return null
  return { found: '', cure: 'A running server walks it again by itself; else run "vitrine sync".' }
}

/** What is wrong when too much of a channel was malformed at the last walk; `null`: nothing. */
function describeMalformed({ productCount, drops }: CopyState, offerCount: number): string | null {
  const products = toShare(drops.product ?? 0, productCount)
  const share = Math.max(products, toShare(countMalformedOffers(drops), offerCount))
  if (share <= MAX_MALFORMED_SHARE) return null
  return `${Math.round(share * 100)} % of what the last walk found was malformed: ${describeDrops(drops).join(', ')}`
}

function toShare(malformed: number, usable: number): number {
  return malformed === 0 ? 0 : malformed / (malformed + usable)
}

const SUBJECT = 'stored copy'

const READ_ONLY_REMEDY =
  'Fail over, or point VITRINE_DATABASE_URL to the primary. What is stored is shown meanwhile; nothing is refreshed or walked.'

/** Look for damage, and whether the database takes writes. @throws StoreError when it cannot be read. */
export async function checkStoredCopy(report: Report, store: SqlStore): Promise<void> {
  const { database } = report.config
  const label = labelDatabase(database)
  const damage = await store.findDamage()
  const remedy = findRemedyByCode(StoreError.code, report.config) ?? ''
  if (damage !== null) return report.bad(SUBJECT, `${label} is damaged: ${damage}`, remedy)
  if (await isOnlyRead(store))
    return report.bad(SUBJECT, `${label} opens, but it only reads, as a standby does`, READ_ONLY_REMEDY)
  const hasContent = (await store.findChannelList()) !== undefined
  const isOpen = database.kind === 'postgres' && database.tls === 'disable' && !isLocal(database.host)
  report.good(
    SUBJECT,
    `${label} opens${hasContent ? '' : '; it has nothing of this catalog yet'}`,
    isOpen ? 'Nothing is encrypted on the way there; sslmode=verify-full in its address changes that.' : null,
  )
}

async function isOnlyRead(store: SqlStore): Promise<boolean> {
  try {
    await store.checkWritable()
    return false
  } catch (error) {
    if (isReadOnly(error)) return true
    throw error
  }
}

function isLocal(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || host.startsWith('127.')
}
