import { checkTarget } from '../lib/report.mjs'
import { runRounds } from '../lib/rounds.mjs'
import { summarize } from '../lib/statistics.mjs'
import { startCatalog, startVitrine, createSettings } from '../lib/vitrine.mjs'
import { measureWalk } from '../lib/walks.mjs'

/** Time from the start of the program until it is ready. */
export const start = {
  name: 'start',
  about: 'from spawn to /readyz with a copy of --products products, against Express + undici + Eta',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const { products } = run.options
    const catalog = await startCatalog(run, { count: products })
    const settings = createSettings(run, catalog)
    await measureWalk(run, catalog, settings)
    const measureStart = (launch) => async () => {
      const startedMs = performance.now()
      const server = await launch()
      const startMs = performance.now() - startedMs
      await run.stop(server.child)
      return { startMs }
    }
    const rounds = await runRounds(run, {
      Vitrine: measureStart(() => startVitrine(run, settings, { readyPath: '/readyz' })),
      'Express + undici + Eta': measureStart(() => run.startPeer('express-eta.mjs', [catalog.origin])),
    })
    const summaries = Object.entries(rounds).map(([name, list]) => [
      name,
      summarize(list.map(({ startMs }) => startMs)),
    ])
    return {
      tables: [
        {
          title: `Start with a copy of ${products.toLocaleString('en')} products`,
          columns: ['', 'median ms', 'longest ms'],
          rows: summaries.map(([name, { median, max }]) => [name, Math.round(median), Math.round(max)]),
        },
      ],
      targets: [
        checkTarget('start to ready', summaries[0][1], { atMost: 500, unit: ' ms', digits: 0, products }),
      ],
      rounds,
    }
  },
}
