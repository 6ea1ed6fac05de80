import { setTimeout as wait } from 'node:timers/promises'
import { readFamilyMemoryMb } from '../lib/proc.mjs'
import { waitUntil } from '../lib/processes.mjs'
import { judgeAtMost, judgeOfMany } from '../lib/report.mjs'
import { computeMedian } from '../lib/statistics.mjs'
import {
  fetchAnswer,
  nameDatabase,
  startCatalog,
  startVitrine,
  startWalkedVitrine,
  toSettings,
} from '../lib/vitrine.mjs'
import { measureWalk } from '../lib/walks.mjs'

/** After so long without a visit a server is at rest. */
const REST_MS = 5_000
const LIMIT_MB = 150

/** From the start of the program to its first ready answer. */
export const start = {
  name: 'start',
  about: 'from spawn to /readyz with a copy of --products products',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const { catalog, settings } = await prepare(run)
    const times = []
    for (let round = 0; round < run.options.rounds; round += 1) {
      const beganMs = performance.now()
      const vitrine = await startReady(run, settings)
      times.push(performance.now() - beganMs)
      await run.processes.stop(vitrine.child)
    }
    await run.processes.stop(catalog.child)
    const medianMs = computeMedian(times)
    const rows = [
      [run.options.products.toLocaleString('en'), ...[medianMs, Math.max(...times)].map(Math.round)],
    ]
    return {
      tables: [
        { title: 'Start with a copy', columns: ['products of the copy', 'median ms', 'longest ms'], rows },
      ],
      promises: [
        judgeOfMany(
          run.options.products,
          judgeAtMost('start to ready', { value: medianMs, limit: 1_000, unit: ' ms', digits: 0 }),
        ),
      ],
      rounds: { startMs: times },
    }
  },
}

/** What a server holds when nobody asks. */
export const memory = {
  name: 'memory',
  about: 'memory at rest, with a copy of --products products and after a walk of them',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const { catalog, settings } = await prepare(run)
    const started = await startReady(run, settings)
    await wait(REST_MS)
    const startedMb = readFamilyMemoryMb(started.pid)
    await run.processes.stop(started.child)
    const walked = await startWalkedVitrine(run, catalog, { count: run.options.products })
    await wait(REST_MS)
    const walkedMb = readFamilyMemoryMb(walked.pid)
    const rows = [
      ['started with a copy', Math.round(startedMb)],
      ['after a walk in the same server', Math.round(walkedMb)],
    ]
    return {
      tables: [{ title: 'Memory at rest', columns: ['', 'MB'], rows }],
      promises: [judgeRest('at rest', startedMb), judgeRest('at rest after a walk', walkedMb)].map((judged) =>
        judgeOfMany(run.options.products, judged),
      ),
      rounds: { startedMb: [startedMb], walkedMb: [walkedMb] },
    }
  },
}

/** A catalog, and a whole copy of it. */
async function prepare(run) {
  const catalog = await startCatalog(run, { count: run.options.products })
  const settings = toSettings(catalog, nameDatabase(run))
  await measureWalk(run, catalog, settings)
  return { catalog, settings }
}

async function startReady(run, settings) {
  const vitrine = await startVitrine(run, { settings })
  const isReady = async () => (await fetchAnswer(`${vitrine.origin}/readyz`)).status === 200
  await waitUntil(isReady, { what: 'vitrine is ready', child: vitrine.child, everyMs: 5 })
  return vitrine
}

function judgeRest(text, value) {
  return judgeAtMost(text, { value, limit: LIMIT_MB, unit: ' MB', digits: 0 })
}
