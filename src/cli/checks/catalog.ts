import type { CallPolicyState } from '../../catalog/call-policy.ts'
import { QUOTA_SHARES } from '../../catalog/quota.ts'
import { readFeedReport } from '../../catalog-service/feeds/feed-warnings.ts'
import type { CatalogStore } from '../../catalog-service/store/catalog-store.ts'
import { fetchOwnedChannels } from '../../catalog-service/store/channels.ts'
import { fetchNetworkChannels, fetchNetworks } from '../../catalog-service/store/networks.ts'
import { isCatalogEmpty } from '../../catalog-service/store/meta.ts'
import { type Clock, SECOND_MS } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import { formatNumber, pluralize } from '../../lib/format.ts'
import { isFeedFailing } from '../../catalog/feed-report.ts'
import { isClockSkewed, readDatabaseClockSkewMs } from '../../observability/clock-monitor.ts'
import type { CopyStore } from '../../storage/store.ts'
import { formatTime } from '../../widgets/format.ts'
import { listMissingReferenceWarnings } from '../../catalog-service/commands/networks.ts'
import { withCatalog } from '../../catalog-service/commands/store.ts'
import type { CommandContext } from '../../command.ts'
import { LOST_CATALOG_MESSAGE, findCopiedCatalogId, describeLostCatalogRemedy } from '../open-catalog.ts'
import type { CheckReport } from './report.ts'

/** `catalogSkewMs`: how far the catalog's clock is ahead of this machine's; `undefined` when unknown. */
type ClockCheckOptions = Readonly<{
  clock: Clock
  store: Pick<CopyStore, 'readDatabaseTime'> | undefined
  catalogSkewMs: number | undefined
}>

/** Compare the clocks of this machine, the catalog and the database server. Add no finding when only this machine's is known. */
export async function checkClocks(
  report: CheckReport,
  { clock, store, catalogSkewMs }: ClockCheckOptions,
): Promise<void> {
  const databaseSkewMs = store && (await readDatabaseClockSkewMs(store, clock).catch(() => null))
  const otherClocks: OtherClock[] = []
  if (catalogSkewMs !== undefined) otherClocks.push({ name: 'the catalog', skewMs: catalogSkewMs })
  if (typeof databaseSkewMs === 'number') otherClocks.push({ name: 'the database', skewMs: databaseSkewMs })
  if (otherClocks.length === 0) return
  const skewedClocks = otherClocks.filter(({ skewMs }) => isClockSkewed(skewMs))
  if (skewedClocks.length === 0) {
    const names = otherClocks.map(({ name }) => name).join(' and ')
    return report.addOk('clock', `this machine and ${names} agree within a minute`)
  }
  const messages = skewedClocks.map(({ name, skewMs }) => {
    const seconds = formatNumber(Math.round(Math.abs(skewMs) / SECOND_MS))
    return `the clock of ${name} is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the clock of this machine`
  })
  report.addProblem('clock', messages.join(', '), toClockRemedy(otherClocks, skewedClocks))
}

type OtherClock = Readonly<{ name: string; skewMs: number }>

/** When both other clocks agree with each other but not with this machine, this machine is wrong. */
function toClockRemedy([first, second]: readonly OtherClock[], skewedClocks: readonly OtherClock[]): string {
  if (first !== undefined && second !== undefined) {
    if (!isClockSkewed(first.skewMs - second.skewMs))
      return 'The clock of this machine is wrong: set it by NTP (timedatectl set-ntp true).'
    if (skewedClocks.length === 1 && skewedClocks[0] === second)
      return 'The clock of the database is wrong: set it by NTP on its machine.'
  }
  return 'Compare "date -u" on each machine, and set the wrong clock by NTP. A cache before the catalog that sends no Age header also makes the catalog\'s clock look late.'
}

const SHARE_NAMES = { walk: 'walks', refresh: 'refreshes', lookup: 'first look-ups' } as const

export function checkQuota(
  report: CheckReport,
  { quota, limit, remaining }: CallPolicyState,
  nowMs: number,
): void {
  const usage = QUOTA_SHARES.map((share) => {
    const limitText =
      remaining === undefined ? '' : ` of ${formatNumber(quota.calls[share] + remaining[share])}`
    return `${SHARE_NAMES[share]} ${formatNumber(quota.calls[share])}${limitText}`
  }).join(', ')
  if (nowMs < quota.limitedUntilMs)
    return report.addProblem(
      'request limit',
      `reached: no catalog calls until ${formatTime(quota.limitedUntilMs, 'en')}; calls today: ${usage}`,
      'Until then the stored copy is shown. To prevent this, use a larger plan or walk less often (VITRINE_SYNC_CRON). VITRINE_CATALOG_DAILY_LIMIT lets the server divide the calls of a day.',
    )
  const exhaustedShares = QUOTA_SHARES.filter((share) => remaining?.[share] === 0).map(
    (share) => SHARE_NAMES[share],
  )
  const remedy =
    exhaustedShares.length === 0
      ? null
      : `No calls are left for ${exhaustedShares.join(' and ')} until 00:00 UTC.`
  report.addOk('request limit', `${describeLimit(limit)}; calls today: ${usage}`, remedy)
}

function describeLimit(limit: CallPolicyState['limit']): string {
  if (limit === undefined) return 'no daily limit known'
  const calls = formatNumber(limit.calls)
  return limit.isLearned ? `about ${calls} a day, learned from a 429` : `${calls} a day`
}

/** Report what shows or earns nothing. It is no failure, because a catalog is built step by step. */
export async function checkEmbeddedCatalog(context: CommandContext, report: CheckReport): Promise<void> {
  await withCatalog(context, async (store) => {
    const { read } = store
    if (await read(isCatalogEmpty)) return checkLostCatalog(report)
    const reported = await checkFeeds(report, store, context.config)
    const networkChannels = await read(fetchNetworkChannels)
    const assigned = new Set(networkChannels.map(({ channelId }) => channelId))
    for (const { id, name } of await read(fetchOwnedChannels)) {
      const remedy = `vitrine catalog networks assign NETWORK --channel ${id}`
      if (!assigned.has(id))
        report.addOk(`channel ${name} (${id})`, 'it has no network and shows nothing', remedy)
    }
    for (const network of (await read(fetchNetworks)).filter(({ name }) => !reported.has(`network ${name}`)))
      for (const remedy of listMissingReferenceWarnings(network, networkChannels))
        report.addOk(`network ${network.name}`, 'its links have no publisher reference', remedy)
  })
}

/** Report each feed with its state, and what earns nothing or is shown twice. Return the subjects of the warnings. */
async function checkFeeds(
  report: CheckReport,
  store: CatalogStore,
  { priceMaxAgeSeconds }: Pick<Config, 'priceMaxAgeSeconds'>,
): Promise<ReadonlySet<string>> {
  const { feeds, warnings } = await readFeedReport(store, { priceMaxAgeSeconds, hasWarnings: true })
  for (const feed of feeds) {
    const subject = `feed ${feed.name}`
    if (warnings.some((warning) => warning.subject === subject)) continue
    const time = feed.fetchedAtMs === null ? 'no run yet' : `read on ${formatTime(feed.fetchedAtMs, 'en')}`
    report.addOk(subject, `${time}, ${pluralize(feed.offers, 'offer')}`)
  }
  const failing = new Set(
    feeds.filter((feed) => isFeedFailing(feed) || feed.isTooOld).map(({ name }) => `feed ${name}`),
  )
  for (const { subject, message, remedy } of warnings) {
    if (failing.has(subject)) report.addProblem(subject, message, remedy)
    else report.addOk(subject, message, remedy)
  }
  return new Set(warnings.map(({ subject }) => subject))
}

/** Report an empty catalog as lost when the stored copy was made from one. An unreadable copy is a finding of its own. */
async function checkLostCatalog(report: CheckReport): Promise<void> {
  const copiedCatalogId = await findCopiedCatalogId(report.config.database).catch(() => undefined)
  if (copiedCatalogId !== undefined)
    report.addProblem('catalog', LOST_CATALOG_MESSAGE, describeLostCatalogRemedy(report.config))
}
