import type { GateState } from '../catalog/call-gate.ts'
import type { Context } from '../context.ts'
import { waitInTime } from '../freshness/in-time.ts'
import type { MeasuredState } from '../state-metrics.ts'

/** What an operator asks of the whole, by `/readyz` and by `/metrics`. */
export type ServerState = Readonly<{
  isStoreUp: boolean
  /** Does it take writes? A server may only read, as a standby does. */
  isStoreWritable: boolean
  gate: GateState
  copies: MeasuredState['copies']
}>

/**
 * Looks the state up; nothing is called, and a failing store is part of the answer. A store that says nothing is waited for no
 * longer than visitors wait for it.
 */
export async function readServerState(context: Context): Promise<ServerState> {
  const { store, gate, clock, config } = context
  const inTime = <T>(call: Promise<T>): Promise<T | undefined> =>
    waitInTime(clock, config.freshness.visitorTimeoutMs, call)
  const [isStoreUp = false, isStoreWritable = false, state, copies] = await Promise.all([
    inTime(store.ping().then(() => true)),
    inTime(store.checkWritable().then(() => true)),
    inTime(gate.readState()),
    inTime(readCopies(context)),
  ])
  return {
    isStoreUp,
    isStoreWritable: isStoreUp && isStoreWritable,
    gate: state ?? gate.readSeenState(),
    copies: (isStoreUp && copies) || [],
  }
}

async function readCopies({ store, config, clock }: Context): Promise<MeasuredState['copies']> {
  const list = await store.findChannelList()
  const served = (list?.channels ?? []).filter(({ id }) => config.channels?.includes(id) ?? true)
  const copies = await Promise.all(
    served.map(async ({ id }) => ({ channel: id, ...(await store.getCopyState(id)) })),
  )
  return copies.flatMap(({ channel, completedAtMs, productCount, dealCount }) =>
    completedAtMs === null
      ? []
      : [{ channel, ageMs: Math.max(0, clock.nowMs() - completedAtMs), productCount, dealCount }],
  )
}

/** The same, as the metrics take it. */
export function toMeasuredState({ memories }: Context, state: ServerState): MeasuredState {
  const { quota, limit, left, keyRefusedUntilMs, breaker } = state.gate
  const { products, deals, answers } = memories
  return {
    isStoreUp: state.isStoreUp,
    isStoreWritable: state.isStoreWritable,
    callsToday: quota.calls,
    callsLeft: left,
    dailyLimit: limit && { [limit.isLearned ? 'learned' : 'set']: limit.calls },
    limitedUntilMs: quota.limitedUntilMs,
    keyRefusedUntilMs,
    breaker,
    copies: state.copies,
    caches: {
      entries: {
        products: products.entryCount(),
        deals: deals.entryCount(),
        answers: answers.entryCount(),
      },
      bytes: { products: products.byteCount(), deals: deals.byteCount(), answers: answers.byteCount() },
    },
  }
}
