import type { GateState } from '../catalog/call-gate.ts'
import { SHARES } from '../catalog/quota.ts'
import { formatTime } from '../widgets/format.ts'
import { type Finding, bad, good } from './findings.ts'

const SUBJECT = 'request limit'

/** How much of the catalog's request limit is used, and whether it is reached. */
export function judgeQuota({ quota, limit, left }: GateState, nowMs: number): Finding {
  const used = SHARES.map((share) => {
    const of = left === undefined ? '' : ` of ${(quota.calls[share] + left[share]).toLocaleString('en')}`
    return `${SHARE_NAMES[share]} ${quota.calls[share].toLocaleString('en')}${of}`
  }).join(', ')
  const known = describeLimit(limit)
  const spent = SHARES.filter((share) => left?.[share] === 0).map((share) => SHARE_NAMES[share])
  if (nowMs >= quota.limitedUntilMs) {
    const cure = spent.length === 0 ? null : `Spent until 00:00 UTC: what ${spent.join(' and ')} may use.`
    return good(SUBJECT, `${known}; calls today: ${used}`, cure)
  }
  const until = formatTime(quota.limitedUntilMs, 'en')
  return bad(
    SUBJECT,
    `reached: no call leaves until ${until}; calls today: ${used}`,
    'Readers see the stored copy meanwhile. A larger plan, or a rarer walk (VITRINE_SYNC_CRON), prevents it; VITRINE_CATALOG_DAILY_LIMIT lets the server divide the day.',
  )
}

function describeLimit(limit: GateState['limit']): string {
  if (limit === undefined) return 'none known'
  const calls = limit.calls.toLocaleString('en')
  return limit.isLearned ? `about ${calls} a day, learned from a 429` : `${calls} a day`
}

const SHARE_NAMES = { walk: 'walks', refresh: 'refreshes', lookup: 'first look-ups' } as const
