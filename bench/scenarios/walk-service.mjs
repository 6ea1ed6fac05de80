import { once } from 'node:events'
import { importProducts, startService } from '../lib/catalog-service.mjs'
import { judgeAtLeast, judgeOfMany } from '../lib/report.mjs'
import { computeRatio, runRounds } from '../lib/rounds.mjs'
import { computeFieldMedian } from '../lib/statistics.mjs'
import { nameDatabase, startSync, toSettings } from '../lib/vitrine.mjs'
import { countWritten, measureFetchLoop } from '../lib/walks.mjs'

const LOOP = 'fetched and parsed'
const WALK = 'first walk'

/** The first walk of a catalog that has to read its pages itself: the catalog service of this program. */
export const walkService = {
  name: 'walk-service',
  about: 'the first walk of the same products, served by the catalog service of this program',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const count = run.options.products
    const { settings } = await importProducts(run, { count })
    const catalog = await startService(run, settings)
    const subjects = {
      [LOOP]: () => measureFetchLoop(run, catalog),
      [WALK]: () => measureFirstWalk(run, catalog),
    }
    const rounds = await runRounds(run, subjects, { warmUp: false })
    const value = computeRatio(rounds, { own: WALK, peer: LOOP })
    return {
      tables: [
        {
          title: `A walk of ${count.toLocaleString('en')} products of the catalog service`,
          columns: ['', 'products/s', 'seconds', 'products written'],
          rows: Object.entries(rounds).map(([name, list]) => [
            name,
            Math.round(computeFieldMedian(list, 'perSecond')),
            computeFieldMedian(list, 'seconds').toFixed(2),
            list.at(-1).written?.toLocaleString('en') ?? '',
          ]),
        },
      ],
      promises: [
        judgeOfMany(
          count,
          judgeAtLeast('first walk, of the speed of fetching and parsing', { value, limit: 0.4 }),
        ),
      ],
      notes: [
        'The start of the program counts here. Nothing is pinned to a core; the catalog service has a core where there is one.',
      ],
      rounds,
    }
  },
}

async function measureFirstWalk(run, catalog) {
  const database = nameDatabase(run)
  const settings = { ...toSettings(catalog, database), VITRINE_CATALOG_KEY: catalog.key }
  const startedMs = performance.now()
  const child = startSync(run, settings, null)
  const ended = once(child, 'exit')
  const [walk] = await run.processes.readFirstLine(child)
  const seconds = (performance.now() - startedMs) / 1e3
  await ended
  if (walk?.outcome !== 'complete') throw new Error(`the walk failed: ${JSON.stringify(walk)}`)
  return { perSecond: walk.productCount / seconds, seconds, written: countWritten(database) }
}
