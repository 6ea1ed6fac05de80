import { judge } from '../lib/report.mjs'
import { runRounds } from '../lib/rounds.mjs'
import { summarize } from '../lib/statistics.mjs'
import { startCatalog, startVitrine, toSettings } from '../lib/vitrine.mjs'
import { measureWalk } from '../lib/walks.mjs'

/** From the start of the program until it is ready. */
export const start = {
  name: 'start',
  about: 'from spawn to /readyz with a copy of --products products, beside Express + undici + Eta',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const { products } = run.options
    const catalog = await startCatalog(run, { count: products })
    const settings = toSettings(run, catalog)
    await measureWalk(run, catalog, settings)
    const time = (begin) => async () => {
      const beganMs = performance.now()
      const server = await begin()
      const startMs = performance.now() - beganMs
      await run.stop(server.child)
      return { startMs }
    }
    const rounds = await runRounds(run, {
      Vitrine: time(() => startVitrine(run, settings, { readyPath: '/readyz' })),
      'Express + undici + Eta': time(() => run.startPeer('express-eta.mjs', [catalog.origin])),
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
      targets: [judge('start to ready', summaries[0][1], { atMost: 500, unit: ' ms', digits: 0, products })],
      rounds,
    }
  },
}
