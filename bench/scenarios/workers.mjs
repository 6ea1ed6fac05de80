import { measureMost } from '../lib/load.mjs'
import { readFamilyMemoryMb } from '../lib/proc.mjs'
import { judgeAtLeast } from '../lib/report.mjs'
import { computeRatio, runRounds, withCpu } from '../lib/rounds.mjs'
import { computeFieldMedian } from '../lib/statistics.mjs'
import { fetchAnswer, startCatalog, startWalkedVitrine, toBoxUrl } from '../lib/vitrine.mjs'

/** One core for who asks and two for the workers. */
const NEEDED_CORES = 3
const LIMIT = 1.6

/** One process and two beside each other. */
export const workers = {
  name: 'workers',
  about: 'the hot box with VITRINE_WORKERS=2 beside 1',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: 200 })
    const hasCores = run.machine.cores >= NEEDED_CORES
    // Too few cores: everybody shares all of them, and what a request costs says what more cores would give.
    const cpus = hasCores ? { server: '1,2', load: '0' } : { server: null, load: null }
    const subjects = {}
    const servers = {}
    for (const count of [1, 2]) {
      const name = `${count} worker${count === 1 ? '' : 's'}`
      const settings = { VITRINE_WORKERS: String(count) }
      const vitrine = await startWalkedVitrine(run, catalog, { settings, cpus: cpus.server })
      const url = toBoxUrl(vitrine, 3)
      // Each worker keeps its own answers.
      for (let visit = 0; visit < 20; visit += 1) await fetchAnswer(url)
      servers[name] = vitrine
      subjects[name] = withCpu(vitrine.pid, (seconds) => measureMost(run, { url, seconds, cpus: cpus.load }))
    }
    const rounds = await runRounds(run, subjects)
    return describe(rounds, { servers, hasCores, cores: run.machine.cores })
  },
}

function describe(rounds, { servers, hasCores, cores }) {
  const rows = Object.entries(rounds).map(([name, list]) => [
    name,
    Math.round(computeFieldMedian(list, 'perSecond')),
    computeFieldMedian(list, 'p99Ms').toFixed(2),
    computeFieldMedian(list, 'cpuUs').toFixed(1),
    Math.round(1e6 / computeFieldMedian(list, 'cpuUs')),
  ])
  const judged = judgeAtLeast('two workers, of one', {
    value: computeRatio(rounds, { own: '2 workers', peer: '1 worker' }),
    limit: LIMIT,
  })
  const notes = hasCores
    ? []
    : [
        `${cores} cores are too few: the load generator needs one, and takes it from the second worker. The last column is what one core of the server can do, whoever else runs: two workers on two free cores do twice that of two workers.`,
      ]
  return {
    tables: [
      {
        title: 'One worker and two',
        columns: ['', 'requests/s', 'p99 ms', 'CPU µs a request', 'requests/s of a core'],
        rows,
      },
    ],
    promises: [{ ...judged, holds: hasCores ? judged.holds : null }],
    notes,
    rounds,
    memoryMb: Object.fromEntries(
      Object.entries(servers).map(([name, { pid }]) => [name, readFamilyMemoryMb(pid)]),
    ),
  }
}
