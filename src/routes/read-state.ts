import { isFuture } from '../clock.ts'
import type { GateState } from '../catalog/call-gate.ts'
import type { Context } from '../context.ts'
import type { MeasuredState } from '../state-metrics.ts'

/** What an operator asks of the whole, by `/readyz` and by `/metrics`. */
export type ServerState = Readonly<{
  isStoreUp: boolean
  gate: GateState
  copies: MeasuredState['copies']
}>

/** Looks the state up; nothing is called, and a failing store is part of the answer. */
export async function readServerState(context: Context): Promise<ServerState> {
  const isStoreUp = await context.store.ping().then(
    () => true,
    () => false,
  )
  return {
    isStoreUp,
    gate: await context.gate.readState(),
    copies: isStoreUp ? await readCopies(context).catch(() => []) : [],
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
      : [{ channel, ageMs: findAgeMs(completedAtMs, clock.nowMs()), productCount, dealCount }],
  )
}

/** The age of what was complete then; `null`: unknown, because a clock was wrong. */
function findAgeMs(completedAtMs: number, nowMs: number): number | null {
  return isFuture(completedAtMs, nowMs) ? null : Math.max(0, nowMs - completedAtMs)
}

/** The same, as the metrics take it. */
export function toMeasuredState({ memories, clocks }: Context, state: ServerState): MeasuredState {
  const { quota, limit, left, keyRefusedUntilMs, breaker } = state.gate
  const { products, deals, answers } = memories
  return {
    isStoreUp: state.isStoreUp,
    callsToday: quota.calls,
    callsLeft: left,
    dailyLimit: limit && { [limit.isLearned ? 'learned' : 'set']: limit.calls },
    limitedUntilMs: quota.limitedUntilMs,
    keyRefusedUntilMs,
    breaker,
    copies: state.copies,
    clockDifferencesMs: clocks.differences(),
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
