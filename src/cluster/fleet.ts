import cluster from 'node:cluster'
import { fileURLToPath } from 'node:url'
import type { AdminAttempt } from '../http/admin-limiter.ts'
import { type Clock, SECOND_MS } from '../clock.ts'
import type { Context, Demo } from '../context.ts'
import { createRestartBackoff } from '../lib/backoff.ts'
import type { StopOrder, ToWorker, WorkerOrder, WorkerQuestion } from './messages.ts'
import { type FleetCounts, type PresentWorker, createFleetCounts } from './fleet-counts.ts'
import { type WorkerEnd, type WorkerProcess, describeEnd, startWorker } from './worker-process.ts'

/** The processes that answer, kept alive by their primary. */
export type Fleet = Readonly<{
  /**
   * Starts them all. Rejects, as a single process would, when one does not come up.
   * @throws UsageError for settings; WorkerError for everything else.
   */
  start(): Promise<void>
  /** Replaces one after the other, without losing a request; stops at the first that does not come up. One at a time. */
  reload(): Promise<void>
  tellAll(message: ToWorker): void
  /** Twice is once. */
  stop(drainMs: number): Promise<void>
}>

/** What a fleet is made of. `makeOrder` is asked at each start of a worker: the key may be another one by then. */
export type FleetDetails = Readonly<{
  size: number
  context: Context
  makeOrder(number: number): WorkerOrder
  askCatalog: Readonly<{ readKeyAgain(): Promise<string>; readContent: Demo['readContent'] }>
}>

/** Beside this file; a process needs JavaScript. */
const BODY = fileURLToPath(new URL('../../dist/cluster/worker.js', import.meta.url))

/** How long a replaced worker goes on answering: a client that asks without pause learns of it with its next answer. */
const REPLACED_DRAIN_MS: number = SECOND_MS

/**
 * What a worker that was told to end may take in all: its drain, the 8 s that answers under way have, and the rest to say
 * what it counted and to close the database. Then it ends itself. When everything stops it is less: the primary ends
 * itself after 9.5 s, and whoever hangs is killed before.
 */
const REPLACED_WITHIN_MS: number = 9.5 * SECOND_MS
const STOPPED_WITHIN_MS: number = 9 * SECOND_MS

/** A worker that has not ended this long after its own limit hangs, and is killed. */
const KILLED_AFTER_MS: number = SECOND_MS / 4

/** A place for one worker after the other. */
type Slot = {
  readonly number: number
  current: WorkerProcess
  readonly waits: ReturnType<typeof createRestartBackoff>
}

type State = {
  readonly slots: Slot[]
  /** Every process that has not ended, those that leave too. */
  readonly live: Set<WorkerProcess>
  readonly counts: FleetCounts
  readonly stopping: AbortController
  isStarted: boolean
}

/** Makes the fleet; no process is started yet. */
export function createFleet(details: FleetDetails): Fleet {
  // Each takes its connections from the one listener itself: see docs/adr/0016-processes.md.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  cluster.setupPrimary({ exec: BODY, args: [], serialization: 'advanced' })
  const live = new Set<WorkerProcess>()
  const counts = createFleetCounts(details.context, () => listProcesses(state))
  const state: State = { slots: [], live, counts, stopping: new AbortController(), isStarted: false }
  const turns = createTurns()
  let stopped: Promise<void> | undefined
  return {
    async start() {
      const { clock } = details.context
      for (let number = 1; number <= details.size; number += 1)
        state.slots.push({
          number,
          waits: createRestartBackoff(clock),
          current: launch(details, state, number),
        })
      await Promise.all(state.slots.map(({ current }) => current.ready))
      state.isStarted = true
      // One that ended between its own readiness and that of the others.
      for (const slot of state.slots) if (!live.has(slot.current)) void replaceDead(details, state, slot)
    },
    reload: () => turns.take(() => reload(details, state)),
    tellAll: (message) => live.forEach((worker) => worker.tell(message)),
    stop: (drainMs) => (stopped ??= stop(state, details.context.clock, drainMs)),
  }
}

function launch(details: FleetDetails, state: State, number: number): WorkerProcess {
  const { context, askCatalog } = details
  const answers: Record<WorkerQuestion, (attempt?: AdminAttempt) => Promise<unknown>> = {
    metrics: () => state.counts.print(),
    key: askCatalog.readKeyAgain,
    content: askCatalog.readContent,
    'admin-attempt': async (attempt) => attempt && context.adminLimiter.admit(attempt),
  }
  const worker = startWorker({
    order: details.makeOrder(number),
    clock: context.clock,
    answer: (what, attempt) => answers[what](attempt),
  })
  state.live.add(worker)
  void noteEnd(details, state, worker)
  return worker
}

/** What it counted stays in the sums; unless it was told to end, another one takes its place. */
async function noteEnd(details: FleetDetails, state: State, worker: WorkerProcess): Promise<void> {
  const how = await worker.end
  state.live.delete(worker)
  state.counts.retire(worker.lastValues())
  const slot = state.slots.find(({ current }) => current === worker)
  if (slot === undefined || state.stopping.signal.aborted || !state.isStarted) return
  noteDeath(details.context, slot, how)
  await replaceDead(details, state, slot)
}

function noteDeath({ logger }: Context, slot: Slot, how: WorkerEnd): void {
  const { number, current } = slot
  logger.error(
    { worker: number, pid: current.pid, ...how },
    `a worker ended (${describeEnd(how)}); it is replaced`,
  )
}

/** At once, and after longer and longer waits when it ends again within moments. */
async function replaceDead(details: FleetDetails, state: State, slot: Slot): Promise<void> {
  const dead = slot.current
  const { clock } = details.context
  await clock.wait(slot.waits.nextMs(), state.stopping.signal)
  // A reload may have put another one there meanwhile.
  if (state.stopping.signal.aborted || slot.current !== dead) return
  state.counts.noteRestart()
  slot.waits.noteStart()
  slot.current = launch(details, state, slot.number)
}

async function reload(details: FleetDetails, state: State): Promise<void> {
  const { logger } = details.context
  for (const slot of state.slots) {
    if (state.stopping.signal.aborted) return
    const next = launch(details, state, slot.number)
    try {
      await next.ready
    } catch (error) {
      next.kill()
      if (state.stopping.signal.aborted) return
      state.counts.noteReload('failed')
      logger.error(
        { err: error, worker: slot.number },
        'the reload stops: a new worker did not come up; the old ones stay',
      )
      return
    }
    const old = slot.current
    slot.current = next
    slot.waits.noteStart()
    const order = { drainMs: REPLACED_DRAIN_MS, withinMs: REPLACED_WITHIN_MS, isWhole: false }
    await endWorker(old, order, details.context.clock)
  }
  state.counts.noteReload('done')
  logger.info({ workers: state.slots.length }, 'every worker was replaced')
}

async function stop(state: State, clock: Clock, drainMs: number): Promise<void> {
  state.stopping.abort()
  const order = { drainMs, withinMs: STOPPED_WITHIN_MS, isWhole: true }
  await Promise.all([...state.live].map((worker) => endWorker(worker, order, clock)))
}

async function endWorker(worker: WorkerProcess, order: StopOrder, clock: Clock): Promise<void> {
  const ended = new AbortController()
  void worker.end.then(() => ended.abort())
  worker.tell({ type: 'stop', order })
  await clock.wait(order.withinMs + KILLED_AFTER_MS, ended.signal)
  if (ended.signal.aborted) return
  worker.kill()
  await worker.end
}

function listProcesses({ slots, live }: State): readonly PresentWorker[] {
  return [...live].map((worker) => ({ worker, isLeaving: slots.every(({ current }) => current !== worker) }))
}

/** One after the other; what waits for its turn already is not asked for a second time. */
function createTurns(): Readonly<{ take(run: () => Promise<void>): Promise<void> }> {
  let last: Promise<void> = Promise.resolve()
  let waiting: Promise<void> | undefined
  return {
    take(run) {
      waiting ??= last = last.then(() => {
        waiting = undefined
        return run()
      })
      return waiting
    },
  }
}
