import { Counter, Gauge, Registry } from 'prom-client'
import type { Context } from '../context.ts'
import type { MetricValues } from './messages.ts'
import { collectValues, printSums, retireValues } from './sums.ts'
import type { WorkerProcess } from './worker-process.ts'

/** What the primary counts, and the sums over all processes. */
export type FleetCounts = Readonly<{
  noteRestart(): void
  noteReload(outcome: 'done' | 'failed'): void
  /** Keeps what a process that has ended had counted: the sums never fall. */
  retire(values: MetricValues): void
  /** Content type and text of `/metrics`, the same whichever worker is asked. */
  print(): Promise<Readonly<{ contentType: string; text: string }>>
}>

/** A process that has not ended; one that leaves counts, but no longer tells of its memory. */
export type PresentWorker = Readonly<{ worker: WorkerProcess; isLeaving: boolean }>

/** `list`: the processes that have not ended, at each call. */
export function createFleetCounts(context: Context, list: () => readonly PresentWorker[]): FleetCounts {
  const { registry, restarts, reloads, silent, workers } = createMeters()
  let retired: MetricValues = []
  return {
    noteRestart: () => restarts.inc(),
    noteReload: (outcome) => reloads.inc({ outcome }),
    retire(values) {
      retired = retireValues(retired, values)
    },
    async print() {
      const answers = await Promise.all(list().map(({ worker }) => worker.refreshValues()))
      silent.inc(answers.filter((isAnswered) => !isAnswered).length)
      const own = await collectValues(context)
      workers.set(list().filter(({ isLeaving }) => !isLeaving).length)
      const ofFleet = await registry.getMetricsAsJSON()
      // From here on nothing waits: a process that ends is either among those present or among the retired.
      const parts = list().map(({ worker, isLeaving }) => ({
        process: isLeaving ? null : `worker-${worker.number}`,
        values: worker.lastValues(),
      }))
      return printSums([
        { process: 'primary', values: own },
        ...parts,
        { process: null, values: retired },
        { process: null, values: ofFleet },
      ])
    },
  }
}

function createMeters() {
  const registry = new Registry()
  const registers = [registry]
  const reloads = new Counter({
    name: 'vitrine_reloads_total',
    help: 'Reloads of the workers by outcome',
    labelNames: ['outcome'],
    registers,
  })
  // From zero on: what first appears with the value one is no growth to whoever looks for it.
  for (const outcome of ['done', 'failed']) reloads.inc({ outcome }, 0)
  return {
    registry,
    reloads,
    restarts: new Counter({
      name: 'vitrine_worker_restarts_total',
      help: 'Workers that ended by themselves and were replaced',
      registers,
    }),
    silent: new Counter({
      name: 'vitrine_worker_silences_total',
      help: 'Times that a worker did not say in time what it had counted; what it said before stood for it',
      registers,
    }),
    workers: new Gauge({ name: 'vitrine_workers', help: 'Processes that answer', registers }),
  }
}
