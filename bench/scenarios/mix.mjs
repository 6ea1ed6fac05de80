import { measureLoad } from '../lib/load.mjs'
import { checkTarget } from '../lib/report.mjs'
import { computeRatio, runRounds, toLoadTable } from '../lib/rounds.mjs'
import { drawZipfRanks } from '../lib/statistics.mjs'
import { fetchWarmBox, listBoxPaths, startCatalog, startWalkedVitrine, toBoxPath } from '../lib/vitrine.mjs'

const BOXES = 10_000
const DRAWS = 100_000

/** Many boxes with a realistic distribution, unmodified boxes (304), and HEAD. */
export const mix = {
  name: 'mix',
  about: '10,000 warm boxes by Zipf, 304 and HEAD, against one hot box of the same server',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: BOXES })
    const vitrine = await startWalkedVitrine(run, catalog)
    // The most popular boxes last, so that the least popular ones are evicted if the cache is full.
    const warmUp = listBoxPaths(0, BOXES).toReversed()
    await measureLoad(run, vitrine, { paths: warmUp, seconds: 600, isOnce: true })
    const ranks = drawZipfRanks({ count: BOXES, draws: DRAWS, seed: 7 })
    const one = [toBoxPath(0)]
    const { headers } = await fetchWarmBox(`${vitrine.origin}${one[0]}`)
    const conditional = { 'If-None-Match': headers.etag }
    const measure = (options) => (seconds) => measureLoad(run, vitrine, { ...options, seconds })
    const rounds = await runRounds(run, {
      'one box': measure({ paths: one }),
      '10,000 boxes': measure({ paths: ranks.map(toBoxPath) }),
      'not modified': measure({ paths: one, headers: conditional }),
      HEAD: measure({ paths: one, method: 'HEAD' }),
    })
    const toHot = (name) => computeRatio(rounds, { of: 'one box', to: name, field: 'cpuUs' })
    return {
      tables: [toLoadTable('Warm boxes, 32 connections', rounds)],
      targets: [
        checkTarget('10,000 boxes by Zipf, relative to the hot box', toHot('10,000 boxes'), {
          atLeast: 0.85,
        }),
        checkTarget('304, relative to the hot box', toHot('not modified'), { atLeast: 0.95 }),
        checkTarget('HEAD, relative to the hot box', toHot('HEAD'), { atLeast: 0.95 }),
      ],
      rounds,
    }
  },
}
