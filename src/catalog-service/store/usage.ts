import { type Clock, MINUTE_MS, isWithin } from '../../clock.ts'
import { StoreError } from '../../errors.ts'
import type { Organization } from './organizations.ts'
import type { CountAnswer, UsageCounter } from './catalog-store.ts'
import type { SqliteCatalogStore } from './open-sqlite.ts'

/** Characters of `2026-05-01` in an ISO time. */
const DAY_CHARACTERS = 10

/** How exactly it is noted when a key was last used; noting every use would be a write of its own for each request. */
const NOTED_EVERY_MS: number = MINUTE_MS

/** Keys whose last use is remembered here, so as not to note it again. */
const MAX_NOTED_KEYS = 10_000

/** The UTC day of a time: `2026-05-01`. */
export function toUtcDay(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, DAY_CHARACTERS)
}

type Waiting = {
  organization: Organization
  settle: ((answer: CountAnswer) => void)[]
  fail: ((error: unknown) => void)[]
}

/** Makes the counter of one process. */
export function createSqliteCounter(store: Pick<SqliteCatalogStore, 'runUsage' | 'clock'>): UsageCounter {
  let waiting = new Map<string, Waiting>()
  const flush = (): void => {
    const all = waiting
    waiting = new Map()
    for (const one of all.values()) settleAll(store, one)
  }
  return {
    count({ organization }) {
      if (waiting.size === 0) setImmediate(flush)
      const { id, dailyLimit } = organization
      const key = `${id} ${dailyLimit}`
      const one = waiting.get(key) ?? { organization, settle: [], fail: [] }
      waiting.set(key, one)
      return new Promise((resolve, reject) => {
        one.settle.push(resolve)
        one.fail.push(reject)
      })
    },
    noteKey: createKeyNotes(store.clock, (keyId, nowMs) => {
      try {
        store.runUsage(
          `insert into key_uses (key_id, used_at_ms) values (?, ?)
          on conflict (key_id) do update set used_at_ms = max(used_at_ms, excluded.used_at_ms)`,
          [keyId, nowMs],
        )
      } catch {
        // The request was counted: whoever made it has no part in this.
      }
    }),
  }
}

/** Notes a key through `write`, which never fails, unless it did within the last minute. */
export function createKeyNotes(
  clock: Clock,
  write: (keyId: string, nowMs: number) => void,
): UsageCounter['noteKey'] {
  const notedAtMs = new Map<string, number>()
  return (keyId) => {
    const nowMs = clock.nowMs()
    if (isWithin(notedAtMs.get(keyId) ?? -Infinity, NOTED_EVERY_MS, nowMs)) return
    if (notedAtMs.size >= MAX_NOTED_KEYS) notedAtMs.clear()
    notedAtMs.set(keyId, nowMs)
    write(keyId, nowMs)
  }
}

/** All of them at once where all are within the limit; else one by one, so that as many pass as are allowed. */
function settleAll(
  store: Pick<SqliteCatalogStore, 'runUsage' | 'clock'>,
  { organization, settle, fail }: Waiting,
): void {
  try {
    if (add(store, organization, settle.length)) for (const resolve of settle) resolve('counted')
    else if (settle.length === 1) settle[0]?.('full')
    else for (const resolve of settle) resolve(add(store, organization, 1) ? 'counted' : 'full')
  } catch (error) {
    const failure = new StoreError('the daily count cannot be written', { cause: error })
    for (const reject of fail) reject(failure)
  }
}

/** One statement, so that other processes count before or after it. */
function add(
  store: Pick<SqliteCatalogStore, 'runUsage' | 'clock'>,
  organization: Organization,
  requests: number,
): boolean {
  const limit = organization.dailyLimit ?? Number.MAX_SAFE_INTEGER
  const counted = store.runUsage(
    `insert into usage (organization_id, day, requests) select ?1, ?2, ?3 where ?3 <= ?4
    on conflict (organization_id, day) do update set requests = requests + ?3 where requests + ?3 <= ?4
    returning requests`,
    [organization.id, toUtcDay(store.clock.nowMs()), requests, limit],
  )
  return counted.length > 0
}
