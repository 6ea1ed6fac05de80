import { measureLoad } from '../lib/load.mjs'
import { judge } from '../lib/report.mjs'
import { computeRatio, runRounds, toLoadTable } from '../lib/rounds.mjs'
import { drawZipfRanks } from '../lib/statistics.mjs'
import { fetchWarmBox, listBoxPaths, startCatalog, startWalkedVitrine, toBoxPath } from '../lib/vitrine.mjs'

const BOXES = 10_000
const DRAWS = 100_000

/** Many boxes as readers ask for them, boxes that the visitor has already (304), and HEAD. */
export const mix = {
  name: 'mix',
  about: '10,000 warm boxes by Zipf, 304 and HEAD, beside one hot box of the same server',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: BOXES })
    const vitrine = await startWalkedVitrine(run, catalog)
    // The most popular last: what does not fit into the cache is what is asked for least.
    const warmUp = listBoxPaths(0, BOXES).toReversed()
    await measureLoad(run, vitrine, { paths: warmUp, seconds: 600, isOnce: true })
    const ranks = drawZipfRanks({ count: BOXES, draws: DRAWS, seed: 7 })
    const one = [toBoxPath(0)]
    const { headers } = await fetchWarmBox(`${vitrine.origin}${one[0]}`)
    const known = { 'If-None-Match': headers.etag }
    const ask = (order) => (seconds) => measureLoad(run, vitrine, { ...order, seconds })
    const rounds = await runRounds(run, {
      'one box': ask({ paths: one }),
      '10,000 boxes': ask({ paths: ranks.map(toBoxPath) }),
      'not modified': ask({ paths: one, headers: known }),
      HEAD: ask({ paths: one, method: 'HEAD' }),
    })
    const toHot = (name) => computeRatio(rounds, { of: 'one box', to: name, field: 'cpuUs' })
    return {
      tables: [toLoadTable('Warm boxes, 32 connections', rounds)],
      targets: [
        judge('10,000 boxes by Zipf, of the hot box', toHot('10,000 boxes'), { atLeast: 0.85 }),
        judge('304, of the hot box', toHot('not modified'), { atLeast: 0.95 }),
        judge('HEAD, of the hot box', toHot('HEAD'), { atLeast: 0.95 }),
      ],
      rounds,
    }
  },
}
