import { measureLoad } from '../lib/load.mjs'
import { checkTarget } from '../lib/report.mjs'
import { computeRatio, runRounds, toLoadTable } from '../lib/rounds.mjs'
import {
  WITHOUT_WALKS,
  controlCatalog,
  fetchResponse,
  listBoxPaths,
  startCatalog,
  startVitrine,
  toBoxPath,
  createSettings,
} from '../lib/vitrine.mjs'

const DELAY_MS = 20
const VISITORS = 50
const PRODUCTS = 1_000_000
/** More than a server can serve in one round. */
const PATHS = 40_000

/** Boxes that are requested for the first time, with a slow catalog. */
export const cold = {
  name: 'cold',
  about: 'boxes requested for the first time by 50 concurrent visitors, against Express + undici + Eta',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: PRODUCTS, delayMs: DELAY_MS })
    const vitrine = await startVitrine(run, { ...createSettings(run, catalog), ...WITHOUT_WALKS })
    const proxy = await run.startPeer('express-eta.mjs', [catalog.origin])
    // Vitrine fetches the list of channels with the first box.
    await fetchResponse(`${vitrine.origin}${toBoxPath(PRODUCTS - 1)}`)
    let next = 0
    const measure = (server) => async (seconds) => {
      await controlCatalog(catalog, 'reset')
      const paths = listBoxPaths(next, next + PATHS)
      const result = await measureLoad(run, server, { paths, seconds, connections: VISITORS, isOnce: true })
      next += result.requests + VISITORS
      return { ...result, maxPerProduct: (await controlCatalog(catalog, 'state')).maxPerProduct }
    }
    const rounds = await runRounds(run, {
      Vitrine: measure(vitrine),
      'Express + undici + Eta': measure(proxy),
    })
    const toPeer = (field) => computeRatio(rounds, { of: 'Vitrine', to: 'Express + undici + Eta', field })
    const maxCalls = Math.max(...rounds.Vitrine.map(({ maxPerProduct }) => maxPerProduct))
    return {
      tables: [toLoadTable(`Cold boxes, catalog with ${DELAY_MS} ms delay, ${VISITORS} visitors`, rounds)],
      targets: [
        checkTarget('CPU of a cold box, relative to the proxy', toPeer('cpuUs'), { atMost: 2 }),
        checkTarget('p50 of 50 visitors, relative to the proxy', toPeer('p50Ms'), { atMost: 2 }),
        checkTarget('calls for one product', maxCalls, { atMost: 1, digits: 0 }),
      ],
      rounds,
    }
  },
}
