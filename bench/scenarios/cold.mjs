import { fileURLToPath } from 'node:url'
import { CHANNEL, toGtin } from '../lib/catalog-data.mjs'
import { readCpuSeconds, readMemory } from '../lib/proc.mjs'
import { judgeAtMost } from '../lib/report.mjs'
import { runRounds } from '../lib/rounds.mjs'
import { computeFieldMedian } from '../lib/statistics.mjs'
import {
  askCatalog,
  fetchAnswer,
  nameDatabase,
  startCatalog,
  startVitrine,
  toBoxUrl,
  toSettings,
} from '../lib/vitrine.mjs'

const LOAD = fileURLToPath(new URL('../lib/cold-load.mjs', import.meta.url))
const DELAY_MS = 20
const GROUPS = 10
const GROUP_SIZE = 5
const PRODUCTS = 1_000_000
/** More than a group can visit in a second. */
const PRODUCTS_PER_SECOND = 1_000

/** Boxes that nobody has asked for, over a catalog that takes its time. */
export const cold = {
  name: 'cold',
  about: '50 visitors at once, five to a product that nobody asked for before, over a 20 ms catalog',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: PRODUCTS, delayMs: DELAY_MS })
    const settings = { ...toSettings(catalog, nameDatabase(run)), VITRINE_SYNC_CRON: 'off' }
    const vitrine = await startVitrine(run, { settings })
    // The list of channels is known from here on.
    await fetchAnswer(toBoxUrl(vitrine, PRODUCTS - 1))
    let next = 0
    const visit = async (origin, before, seconds) => {
      const wanted = Math.ceil(PRODUCTS_PER_SECOND * seconds)
      const gtins = Array.from({ length: wanted }, (_, place) => toGtin(next + place))
      next += wanted
      await askCatalog(catalog, 'reset')
      const order = JSON.stringify({ origin, before, gtins, groups: GROUPS, groupSize: GROUP_SIZE, seconds })
      const parameters = [LOAD, order]
      const cpuBefore = readCpuSeconds(vitrine.pid)
      const result = JSON.parse(
        await run.processes.run({ command: process.execPath, parameters, cpus: run.cpus.load }),
      )
      const cpuMs = (readCpuSeconds(vitrine.pid) - cpuBefore) * 1e3
      const { lookups, most } = await askCatalog(catalog, 'state')
      return { ...result, cpuMs: cpuMs / result.products, calledFor: lookups, most }
    }
    const rounds = await runRounds(run, {
      'the catalog itself': (seconds) =>
        visit(catalog.origin, `/v0/channels/${CHANNEL.id}/products/`, seconds),
      Vitrine: (seconds) => visit(vitrine.origin, `/fragments/${CHANNEL.id}/where-to-buy/`, seconds),
    })
    return describe(rounds, readMemory(vitrine.pid))
  },
}

function describe(rounds, memory) {
  const rows = Object.entries(rounds).map(([name, list]) => [
    name,
    computeFieldMedian(list, 'p50Ms').toFixed(2),
    computeFieldMedian(list, 'p99Ms').toFixed(2),
    Math.round(computeFieldMedian(list, 'products')),
    Math.round(computeFieldMedian(list, 'requests')),
    Math.round(computeFieldMedian(list, 'calledFor')),
    computeFieldMedian(list, 'cpuMs').toFixed(2),
  ])
  const most = Math.max(...rounds.Vitrine.map((round) => round.most))
  const failures = rounds.Vitrine.reduce((sum, round) => sum + round.failures, 0)
  return {
    tables: [
      {
        title: 'Cold boxes',
        columns: [
          '',
          'p50 ms',
          'p99 ms',
          'products a round',
          'visits',
          'calls',
          'CPU ms of Vitrine a product',
        ],
        rows,
      },
    ],
    promises: [
      judgeAtMost('visits that got no box in time', { value: failures, limit: 0, digits: 0 }),
      judgeAtMost('p50 of a cold box', {
        value: computeFieldMedian(rounds.Vitrine, 'p50Ms'),
        limit: 24,
        unit: ' ms',
      }),
      judgeAtMost('calls for one product', { value: most, limit: 1, digits: 0 }),
    ],
    rounds,
    memoryMb: { 'after the load': memory?.rssMb ?? 0 },
  }
}
