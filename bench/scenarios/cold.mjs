import { measureLoad } from '../lib/load.mjs'
import { judge } from '../lib/report.mjs'
import { computeRatio, runRounds, toLoadTable } from '../lib/rounds.mjs'
import {
  WITHOUT_A_WALK,
  askCatalog,
  fetchAnswer,
  listBoxPaths,
  startCatalog,
  startVitrine,
  toBoxPath,
  toSettings,
} from '../lib/vitrine.mjs'

const DELAY_MS = 20
const VISITORS = 50
const PRODUCTS = 1_000_000
/** More than any server sends before the first round. */
const PATHS = 40_000

/** Boxes that nobody has asked for, over a catalog that takes its time. */
export const cold = {
  name: 'cold',
  about: '50 visitors at once, each to boxes that nobody asked for before, beside Express + undici + Eta',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: PRODUCTS, delayMs: DELAY_MS })
    const vitrine = await startVitrine(run, { ...toSettings(run, catalog), ...WITHOUT_A_WALK })
    const proxy = await run.startPeer('express-eta.mjs', [catalog.origin])
    // The list of channels is known from here on.
    await fetchAnswer(`${vitrine.origin}${toBoxPath(PRODUCTS - 1)}`)
    let next = 0
    const ask = (server) => async (seconds) => {
      await askCatalog(catalog, 'reset')
      const paths = listBoxPaths(next, next + PATHS)
      const result = await measureLoad(run, server, { paths, seconds, connections: VISITORS, isOnce: true })
      next += result.requests + VISITORS
      return { ...result, mostOfOne: (await askCatalog(catalog, 'state')).mostOfOne }
    }
    const rounds = await runRounds(run, { Vitrine: ask(vitrine), 'Express + undici + Eta': ask(proxy) })
    const toPeer = (field) => computeRatio(rounds, { of: 'Vitrine', to: 'Express + undici + Eta', field })
    const most = Math.max(...rounds.Vitrine.map(({ mostOfOne }) => mostOfOne))
    return {
      tables: [toLoadTable(`Cold boxes over a catalog of ${DELAY_MS} ms, ${VISITORS} visitors`, rounds)],
      targets: [
        judge('CPU of a cold product, of the proxy', toPeer('cpuUs'), { atMost: 1.4 }),
        judge('p50 of 50 visitors, of the proxy', toPeer('p50Ms'), { atMost: 1.4 }),
        judge('calls for one product', most, { atMost: 1, digits: 0 }),
      ],
      rounds,
    }
  },
}
