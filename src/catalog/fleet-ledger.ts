import type { Clock } from '../clock.ts'
import {
  type QuotaState,
  computeLeft,
  createQuotaState,
  divideLimit,
  findDailyLimit,
  mergeStates,
  startDay,
  toDay,
} from './quota.ts'
import { type QuotaChange, type QuotaLedger, createTogether } from './quota-ledger.ts'

/** First look-ups that a process sets aside for a time without the database; of a known limit this part of what is left at most. */
const RESERVED_CALLS = 10
const RESERVED_PART = 1 / 10
/** Of a known share all processes together set aside no more than this part. */
const RESERVED_BY_ALL = 1 / 5

/** What a ledger is made of. `mayReserve`: does it answer visitors? `dailyLimit` as in the settings. */
export type FleetLedgerDetails = Readonly<{
  clock: Clock
  dailyLimit: number | null
  mayReserve: boolean
  onFailure(error: unknown): void
}>

/** A ledger that several machines share. */
export type FleetLedger = QuotaLedger &
  Readonly<{
    /** Gives back what was set aside and not used: the process ends. */
    giveBack(): Promise<void>
  }>

/** What this process has set aside on a day, and made of it while it was alone. */
type Reserve = Readonly<{ day: number; left: number; made: number }>

/**
 * The counts in a store that several machines share. While it is away nobody knows what the others call: then nothing is
 * refreshed or walked, and first look-ups are made only of those that this process has set aside before, which the store has
 * counted as if they had been made. So no day's limit is passed, however many machines there are.
 */
export function createFleetLedger(shared: QuotaLedger, details: FleetLedgerDetails): FleetLedger {
  let reserve: Reserve = { day: 0, left: 0, made: 0 }
  let last = createQuotaState(details.clock.nowMs())
  const updateShared = async (nowMs: number, change: QuotaChange): Promise<QuotaState> => {
    const own = reserve
    let kept = 0
    const state = await shared.updateQuota(nowMs, (stored) => {
      const changed = changeWithReserve(settle(stored, last, own), { own, change, details, nowMs })
      kept = changed.kept
      // Whether this is stored may never be known here: from now on no more is used than that leaves.
      if (reserve.day === stored.day) reserve = { ...reserve, left: Math.min(reserve.left, kept) }
      return changed.state
    })
    reserve = { day: state.day, left: kept, made: 0 }
    last = state
    return state
  }
  const updateAlone = (nowMs: number, change: QuotaChange): QuotaState => {
    const day = toDay(nowMs)
    const { left, made } = reserve.day === day ? reserve : { left: 0, made: 0 }
    const after = change({ ...startDay(last, nowMs), allowance: left })
    const used = left - (after.allowance ?? left)
    reserve = { day, left: left - used, made: made + used }
    last = after
    return after
  }
  const update = async (nowMs: number, change: QuotaChange): Promise<QuotaState> => {
    try {
      return await updateShared(nowMs, change)
    } catch (error) {
      details.onFailure(error)
      return updateAlone(nowMs, change)
    }
  }
  return {
    updateQuota: createTogether(update),
    async giveBack() {
      const { day, left } = reserve
      if (left === 0) return
      reserve = { ...reserve, left: 0 }
      await shared
        .updateQuota(details.clock.nowMs(), (state) =>
          state.day === day ? { ...state, reserved: Math.max(0, state.reserved - left) } : state,
        )
        .catch(details.onFailure)
    },
  }
}

/** What this process has set aside is its own to use while the store is there, too; afterwards it sets aside anew. */
function changeWithReserve(
  settled: QuotaState,
  {
    own,
    change,
    details,
    nowMs,
  }: Readonly<{
    own: Reserve
    change: QuotaChange
    details: FleetLedgerDetails
    nowMs: number
  }>,
): Readonly<{ state: QuotaState; kept: number }> {
  const held = own.day === settled.day ? Math.min(own.left, settled.reserved) : 0
  const before = { ...settled, reserved: settled.reserved - held }
  const after = change(before)
  // At the start, and on each new day, before anything is called.
  const isDue = after.calls !== before.calls || own.day !== settled.day
  const kept = isDue ? countKept(after, { ...details, nowMs }) : held
  return { state: { ...after, reserved: after.reserved + kept }, kept }
}

/** What the store knows, with what was made and learned while it was away. */
function settle(stored: QuotaState, last: QuotaState, { day, made }: Reserve): QuotaState {
  if (last.allowance === null) return stored
  const { calls, reserved, lookupsLastHour } = stored
  const merged = { ...mergeStates(stored, last), calls, reserved, lookupsLastHour, allowance: null }
  if (stored.day !== day) return merged
  return {
    ...merged,
    calls: { ...calls, lookup: calls.lookup + made },
    reserved: Math.max(0, reserved - made),
  }
}

/** How many look-ups are to be set aside from now on; `state.reserved` are those of other processes. */
function countKept(
  state: QuotaState,
  details: Pick<FleetLedgerDetails, 'dailyLimit' | 'mayReserve'> & Readonly<{ nowMs: number }>,
): number {
  const { dailyLimit, mayReserve, nowMs } = details
  if (!mayReserve) return 0
  const rules = { dailyLimit, lookupsPerHour: null }
  const left = computeLeft(state, rules, nowMs)?.lookup ?? Infinity
  const share = divideLimit(findDailyLimit(state, rules, nowMs)?.calls ?? Infinity).lookup
  const room = Number.isNaN(share) ? Infinity : share * RESERVED_BY_ALL - state.reserved
  return Math.max(0, Math.floor(Math.min(RESERVED_CALLS, left * RESERVED_PART, room)))
}
