import { isFuture } from '../clock.ts'
import type { GateState } from '../catalog/call-gate.ts'
import type { Context } from '../context.ts'
import { isServed } from '../config/config.ts'
import { waitInTime } from '../lib/in-time.ts'
import type { MeasuredState } from './state-metrics.ts'

/** What an operator asks of the whole, by `/readyz` and by `/metrics`. */
export type ServerState = Readonly<{
  isStoreUp: boolean
  /** Does it take writes? A server may only read, as a standby does. */
  isStoreWritable: boolean
  gate: GateState
  /** Served channels of the list; `null` before there is one, and while it cannot be read. */
  channelCount: number | null
  /** Since when the catalog lists no channels and is not believed, Unix milliseconds. */
  channelsHeldSinceMs: number | null
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
    ...((isStoreUp && copies) || NO_COPIES),
  }
}

type Copies = Pick<ServerState, 'channelCount' | 'channelsHeldSinceMs' | 'copies'>

const NO_COPIES: Copies = { channelCount: null, channelsHeldSinceMs: null, copies: [] }

async function readCopies({ store, config, clock }: Context): Promise<Copies> {
  const list = await store.findChannelList()
  if (list === undefined) return NO_COPIES
  const served = list.channels.filter(({ id }) => isServed(config, id))
  const states = await Promise.all(
    served.map(async ({ id }) => ({ channel: id, ...(await store.getCopyState(id)) })),
  )
  const copies = states.flatMap(({ channel, completedAtMs, productCount, dealCount, held }) =>
    completedAtMs === null
      ? []
      : [{ channel, ageMs: findAgeMs(completedAtMs, clock.nowMs()), productCount, dealCount, held }],
  )
  return { channelCount: served.length, channelsHeldSinceMs: list.heldSinceMs, copies }
}

/** The age of what was complete then; `null`: unknown, because a clock was wrong. */
function findAgeMs(completedAtMs: number, nowMs: number): number | null {
  return isFuture(completedAtMs, nowMs) ? null : Math.max(0, nowMs - completedAtMs)
}

/** The same, as the metrics take it. */
export function toMeasuredState({ memories, clocks }: Context, state: ServerState): MeasuredState {
  const { quota, limit, left, keyRefusedUntilMs, breaker } = state.gate
  const { products, deals, responses } = memories
  return {
    isStoreUp: state.isStoreUp,
    isStoreWritable: state.isStoreWritable,
    callsToday: quota.calls,
    callsLeft: left,
    dailyLimit: limit && { [limit.isLearned ? 'learned' : 'set']: limit.calls },
    limitedUntilMs: quota.limitedUntilMs,
    keyRefusedUntilMs,
    breaker,
    channelCount: state.channelCount,
    areChannelsHeld: state.channelsHeldSinceMs !== null,
    copies: state.copies,
    clockDifferencesMs: clocks.differences(),
    caches: {
      entries: {
        products: products.entryCount(),
        deals: deals.entryCount(),
        answers: responses.entryCount(),
      },
      bytes: { products: products.byteCount(), deals: deals.byteCount(), answers: responses.byteCount() },
    },
  }
}
