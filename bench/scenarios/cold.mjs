import { fileURLToPath } from 'node:url'
import { CHANNEL } from '../lib/catalog-data.mjs'
import { readCpuSeconds, readMemory } from '../lib/proc.mjs'
import { judgeAtMost } from '../lib/report.mjs'
import { runRounds } from '../lib/rounds.mjs'
import { computeFieldMedian } from '../lib/statistics.mjs'
import {
  WITHOUT_A_WALK,
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
const PRODUCTS = 1_000_000

/** Fifty visitors, by how many products they ask for at once. */
const CROWDS = {
  'one box at a time': { groups: 1, groupSize: 50 },
  'ten boxes at a time': { groups: 10, groupSize: 5 },
}

/** Boxes that nobody has asked for, over a catalog that takes its time. */
export const cold = {
  name: 'cold',
  about: '50 visitors at once to boxes that nobody asked for before, over a 20 ms catalog',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: PRODUCTS, delayMs: DELAY_MS })
    const settings = { ...toSettings(catalog, nameDatabase(run)), ...WITHOUT_A_WALK }
    const vitrine = await startVitrine(run, { settings })
    // The list of channels is known from here on.
    await fetchAnswer(toBoxUrl(vitrine, PRODUCTS - 1))
    let next = 0
    const visit = async ({ origin, before, isOwn }, crowd, seconds) => {
      await askCatalog(catalog, 'reset')
      const order = { origin, before, first: next, ...crowd, seconds }
      const parameters = [LOAD, JSON.stringify(order)]
      const cpuBefore = readCpuSeconds(vitrine.pid)
      const result = JSON.parse(
        await run.processes.run({ command: process.execPath, parameters, cpus: run.cpus.load }),
      )
      const cpuMs = (readCpuSeconds(vitrine.pid) - cpuBefore) * 1e3
      next += result.products
      const { lookups, most } = await askCatalog(catalog, 'state')
      return { ...result, isOwn, cpuMs: cpuMs / result.products, calledFor: lookups, most }
    }
    const subjects = {}
    for (const [name, crowd] of Object.entries(CROWDS)) {
      subjects[`${name}, the catalog itself`] = (seconds) =>
        visit({ ...catalog, before: `/v0/channels/${CHANNEL.id}/products/`, isOwn: false }, crowd, seconds)
      subjects[`${name}, Vitrine`] = (seconds) =>
        visit({ ...vitrine, before: `/fragments/${CHANNEL.id}/where-to-buy/`, isOwn: true }, crowd, seconds)
    }
    const rounds = await runRounds(run, subjects)
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
    // Vitrine does nothing while others ask the catalog.
    list[0].isOwn ? computeFieldMedian(list, 'cpuMs').toFixed(2) : '',
  ])
  const own = Object.keys(CROWDS).flatMap((name) => rounds[`${name}, Vitrine`])
  const most = Math.max(...own.map((round) => round.most))
  const failures = own.reduce((sum, round) => sum + round.failures, 0)
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
      judgeAtMost('p50 of 50 visitors at once to a cold box', {
        value: computeFieldMedian(rounds['one box at a time, Vitrine'], 'p50Ms'),
        limit: 24,
        unit: ' ms',
      }),
      judgeAtMost('calls for one product', { value: most, limit: 1, digits: 0 }),
    ],
    rounds,
    memoryMb: { 'after the load': memory?.rssMb ?? 0 },
  }
}
