import type { Clock } from '../clock.ts'
import { type QuotaState, computeLeft, createQuotaState, mergeStates, startDay, toDay } from './quota.ts'
import { type QuotaChange, type QuotaLedger, createTogether } from './quota-ledger.ts'

/** First look-ups that a process sets aside for a time without the database; of a known limit this part of what is left at most. */
const RESERVED_CALLS = 10
const RESERVED_PART = 1 / 10

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
    let more = 0
    const state = await shared.updateQuota(nowMs, (stored) => {
      const before = settle(stored, last, own)
      const after = change(before)
      more = after.calls === before.calls ? 0 : countMissing(after, { ...details, own, nowMs })
      return more === 0 ? after : { ...after, reserved: after.reserved + more }
    })
    const left = own.day === state.day ? own.left : 0
    reserve = { day: state.day, left: left + more, made: 0 }
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

/** How many more look-ups are to be set aside. */
function countMissing(
  state: QuotaState,
  details: Pick<FleetLedgerDetails, 'dailyLimit' | 'mayReserve'> & Readonly<{ own: Reserve; nowMs: number }>,
): number {
  const { dailyLimit, mayReserve, own, nowMs } = details
  if (!mayReserve) return 0
  const left = computeLeft(state, { dailyLimit, lookupsPerHour: null }, nowMs)?.lookup ?? Infinity
  const held = own.day === state.day ? own.left : 0
  return Math.max(0, Math.min(RESERVED_CALLS, Math.floor(left * RESERVED_PART)) - held)
}
