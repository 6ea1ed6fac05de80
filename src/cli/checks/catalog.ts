import type { GateState } from '../../catalog/call-gate.ts'
import { SHARES } from '../../catalog/quota.ts'
import { fetchOwnedChannels } from '../../catalog-service/store/channels.ts'
import { fetchNetworkChannels, fetchNetworks } from '../../catalog-service/store/networks.ts'
import { isCatalogEmpty } from '../../catalog-service/store/meta.ts'
import { type Clock, SECOND_MS } from '../../clock.ts'
import { isClockWrong, readDatabaseDifference } from '../../observability/clock-watch.ts'
import type { CopyStore } from '../../storage/store.ts'
import { formatTime } from '../../widgets/format.ts'
import { warnOfNameless } from '../catalog/networks.ts'
import { withCatalog } from '../catalog/store.ts'
import type { CommandContext } from '../command.ts'
import { LOST_CATALOG, findCopiedCatalog, toLostRemedy } from '../open-catalog.ts'
import type { Report } from './findings.ts'

/** What is compared. `catalogAheadMs`: by how much the catalog's clock is ahead of this machine's; `undefined`: it did not say. */
type Clocks = Readonly<{
  clock: Clock
  store: Pick<CopyStore, 'readTime'> | undefined
  catalogAheadMs: number | undefined
}>

/** Compare the clocks of this machine, the catalog and a database server. No finding where none tells its time. */
export async function checkClocks(report: Report, { clock, store, catalogAheadMs }: Clocks): Promise<void> {
  const databaseAheadMs = store && (await readDatabaseDifference(store, clock).catch(() => null))
  const others: Other[] = []
  if (catalogAheadMs !== undefined) others.push({ name: 'the catalog', aheadMs: catalogAheadMs })
  if (typeof databaseAheadMs === 'number') others.push({ name: 'the database', aheadMs: databaseAheadMs })
  if (others.length === 0) return
  const wrong = others.filter(({ aheadMs }) => isClockWrong(aheadMs))
  if (wrong.length === 0) {
    const names = others.map(({ name }) => name).join(' and ')
    return report.good('clock', `it agrees with that of ${names} within a minute`)
  }
  const found = wrong.map(({ name, aheadMs }) => {
    const seconds = Math.round(Math.abs(aheadMs) / SECOND_MS).toLocaleString('en')
    return `that of ${name} is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of this machine`
  })
  report.bad('clock', found.join(', '), findClockRemedy(others, wrong))
}

type Other = Readonly<{ name: string; aheadMs: number }>

/** Where two others agree with each other and not with this machine, its clock is the wrong one. */
function findClockRemedy([first, second]: readonly Other[], wrong: readonly Other[]): string {
  if (first !== undefined && second !== undefined) {
    if (!isClockWrong(first.aheadMs - second.aheadMs))
      return 'The clock of this machine is wrong: set it by NTP (timedatectl set-ntp true).'
    if (wrong.length === 1 && wrong[0] === second)
      return 'The clock of the database is wrong: set it by NTP on its machine.'
  }
  return 'Compare "date -u" on each of them, and set the wrong one by NTP. A cache before the catalog that sends no Age makes its clock look late, too.'
}

const SHARE_NAMES = { walk: 'walks', refresh: 'refreshes', lookup: 'first look-ups' } as const

/** How much of the catalog's request limit is used, and whether it is reached. */
export function checkQuota(report: Report, { quota, limit, left }: GateState, nowMs: number): void {
  const used = SHARES.map((share) => {
    const of = left === undefined ? '' : ` of ${(quota.calls[share] + left[share]).toLocaleString('en')}`
    return `${SHARE_NAMES[share]} ${quota.calls[share].toLocaleString('en')}${of}`
  }).join(', ')
  if (nowMs < quota.limitedUntilMs)
    return report.bad(
      'request limit',
      `reached: no call leaves until ${formatTime(quota.limitedUntilMs, 'en')}; calls today: ${used}`,
      'Readers see the stored copy meanwhile. A larger plan, or a rarer walk (VITRINE_SYNC_CRON), prevents it; VITRINE_CATALOG_DAILY_LIMIT lets the server divide the day.',
    )
  const spent = SHARES.filter((share) => left?.[share] === 0).map((share) => SHARE_NAMES[share])
  const cure = spent.length === 0 ? null : `Spent until 00:00 UTC: what ${spent.join(' and ')} may use.`
  report.good('request limit', `${describeLimit(limit)}; calls today: ${used}`, cure)
}

function describeLimit(limit: GateState['limit']): string {
  if (limit === undefined) return 'none known'
  const calls = limit.calls.toLocaleString('en')
  return limit.isLearned ? `about ${calls} a day, learned from a 429` : `${calls} a day`
}

/**
 * Check the data of the embedded catalog: channels without a network show nothing, and links that name no publisher earn
 * nothing. Neither is a failure: a catalog is built step by step.
 * @throws StoreError when the catalog cannot be read.
 */
export async function checkEmbeddedCatalog(context: CommandContext, report: Report): Promise<void> {
  await withCatalog(context, async ({ reader }) => {
    if (await isCatalogEmpty(reader)) return checkLost(report)
    const networkChannels = await fetchNetworkChannels(reader)
    const assigned = new Set(networkChannels.map(({ channelId }) => channelId))
    for (const { id, name } of await fetchOwnedChannels(reader)) {
      const cure = `vitrine catalog networks assign NETWORK --channel ${id}`
      if (!assigned.has(id))
        report.good(`channel ${name} (${id})`, 'it has no network, and shows nothing', cure)
    }
    for (const network of await fetchNetworks(reader))
      for (const cure of warnOfNameless(network, networkChannels))
        report.good(`network ${network.name}`, 'its links lack the publisher', cure)
  })
}

/** An empty catalog was lost where the stored copy knows one. A copy that cannot be read is a finding of its own. */
async function checkLost(report: Report): Promise<void> {
  const copied = await findCopiedCatalog(report.config.database).catch(() => undefined)
  if (copied !== undefined) report.bad('catalog', LOST_CATALOG, toLostRemedy(report.config))
}
