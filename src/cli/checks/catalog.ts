import type { CallPolicyState } from '../../catalog/call-policy.ts'
import { QUOTA_SHARES } from '../../catalog/quota.ts'
import { fetchOwnedChannels } from '../../catalog-service/store/channels.ts'
import { fetchNetworkChannels, fetchNetworks } from '../../catalog-service/store/networks.ts'
import { isCatalogEmpty } from '../../catalog-service/store/meta.ts'
import { type Clock, SECOND_MS } from '../../clock.ts'
import { isClockSkewed, readDatabaseClockSkewMs } from '../../observability/clock-monitor.ts'
import type { CopyStore } from '../../storage/store.ts'
import { formatTime } from '../../widgets/format.ts'
import { listMissingReferenceWarnings } from '../catalog/networks.ts'
import { withCatalog } from '../catalog/store.ts'
import type { CommandContext } from '../command.ts'
import { LOST_CATALOG_MESSAGE, findCopiedCatalogId, describeLostCatalogRemedy } from '../open-catalog.ts'
import type { CheckReport } from './report.ts'

/** What is compared. `catalogAheadMs`: by how much the catalog's clock is ahead of this machine's; `undefined`: it did not say. */
type ClockCheckOptions = Readonly<{
  clock: Clock
  store: Pick<CopyStore, 'readDatabaseTime'> | undefined
  catalogSkewMs: number | undefined
}>

/** Compare the clocks of this machine, the catalog and a database server. No finding where none tells its time. */
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
    return report.addOk('clock', `it agrees with that of ${names} within a minute`)
  }
  const messages = skewedClocks.map(({ name, skewMs }) => {
    const seconds = Math.round(Math.abs(skewMs) / SECOND_MS).toLocaleString('en')
    return `that of ${name} is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} that of this machine`
  })
  report.addProblem('clock', messages.join(', '), toClockRemedy(otherClocks, skewedClocks))
}

type OtherClock = Readonly<{ name: string; skewMs: number }>

/** Where two others agree with each other and not with this machine, its clock is the wrong one. */
function toClockRemedy([first, second]: readonly OtherClock[], skewedClocks: readonly OtherClock[]): string {
  if (first !== undefined && second !== undefined) {
    if (!isClockSkewed(first.skewMs - second.skewMs))
      return 'The clock of this machine is wrong: set it by NTP (timedatectl set-ntp true).'
    if (skewedClocks.length === 1 && skewedClocks[0] === second)
      return 'The clock of the database is wrong: set it by NTP on its machine.'
  }
  return 'Compare "date -u" on each of them, and set the wrong one by NTP. A cache before the catalog that sends no Age makes its clock look late, too.'
}

const SHARE_NAMES = { walk: 'walks', refresh: 'refreshes', lookup: 'first look-ups' } as const

/** How much of the catalog's request limit is used, and whether it is reached. */
export function checkQuota(
  report: CheckReport,
  { quota, limit, remaining }: CallPolicyState,
  nowMs: number,
): void {
  const usage = QUOTA_SHARES.map((share) => {
    const limitText =
      remaining === undefined ? '' : ` of ${(quota.calls[share] + remaining[share]).toLocaleString('en')}`
    return `${SHARE_NAMES[share]} ${quota.calls[share].toLocaleString('en')}${limitText}`
  }).join(', ')
  if (nowMs < quota.limitedUntilMs)
    return report.addProblem(
      'request limit',
      `reached: no call leaves until ${formatTime(quota.limitedUntilMs, 'en')}; calls today: ${usage}`,
      'Readers see the stored copy meanwhile. A larger plan, or a rarer walk (VITRINE_SYNC_CRON), prevents it; VITRINE_CATALOG_DAILY_LIMIT lets the server divide the day.',
    )
  const exhaustedShares = QUOTA_SHARES.filter((share) => remaining?.[share] === 0).map(
    (share) => SHARE_NAMES[share],
  )
  const remedy =
    exhaustedShares.length === 0
      ? null
      : `Spent until 00:00 UTC: what ${exhaustedShares.join(' and ')} may use.`
  report.addOk('request limit', `${describeLimit(limit)}; calls today: ${usage}`, remedy)
}

function describeLimit(limit: CallPolicyState['limit']): string {
  if (limit === undefined) return 'none known'
  const calls = limit.calls.toLocaleString('en')
  return limit.isLearned ? `about ${calls} a day, learned from a 429` : `${calls} a day`
}

/**
 * Check the data of the embedded catalog: channels without a network show nothing, and links that name no publisher earn
 * nothing. Neither is a failure: a catalog is built step by step.
 * @throws StoreError when the catalog cannot be read.
 */
export async function checkEmbeddedCatalog(context: CommandContext, report: CheckReport): Promise<void> {
  await withCatalog(context, async ({ reader }) => {
    if (await isCatalogEmpty(reader)) return checkLostCatalog(report)
    const networkChannels = await fetchNetworkChannels(reader)
    const assigned = new Set(networkChannels.map(({ channelId }) => channelId))
    for (const { id, name } of await fetchOwnedChannels(reader)) {
      const remedy = `vitrine catalog networks assign NETWORK --channel ${id}`
      if (!assigned.has(id))
        report.addOk(`channel ${name} (${id})`, 'it has no network, and shows nothing', remedy)
    }
    for (const network of await fetchNetworks(reader))
      for (const remedy of listMissingReferenceWarnings(network, networkChannels))
        report.addOk(`network ${network.name}`, 'its links lack the publisher', remedy)
  })
}

/** An empty catalog was lost where the stored copy knows one. A copy that cannot be read is a finding of its own. */
async function checkLostCatalog(report: CheckReport): Promise<void> {
  const copiedCatalogId = await findCopiedCatalogId(report.config.database).catch(() => undefined)
  if (copiedCatalogId !== undefined)
    report.addProblem('catalog', LOST_CATALOG_MESSAGE, describeLostCatalogRemedy(report.config))
}
