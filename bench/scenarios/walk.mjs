import { fileURLToPath } from 'node:url'
import { checkTarget } from '../lib/report.mjs'
import { computeFieldMedian, computeRatio, runRounds } from '../lib/rounds.mjs'
import { controlCatalog, startCatalog, createSettings } from '../lib/vitrine.mjs'
import { measureWalk } from '../lib/walks.mjs'

const LOOP = fileURLToPath(new URL('../peers/fetch-loop.mjs', import.meta.url))

/** Walk the whole catalog into an empty copy, then twice more. */
export const walk = {
  name: 'walk',
  about: 'a walk of --products products, against a loop that only fetches and parses them',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const { products } = run.options
    const catalog = await startCatalog(run, { count: products })
    const fetchAndParse = async () => {
      const { seconds } = JSON.parse(await run.runToEnd([LOOP, catalog.origin]))
      return { perSecond: products / seconds }
    }
    // Each walk of a round continues with the copy of the one before.
    const walkThrice = async (historyDays) => {
      const settings = { ...createSettings(run, catalog), VITRINE_HISTORY_DAYS: historyDays }
      const first = await measureWalk(run, catalog, settings)
      const unchanged = await measureWalk(run, catalog, settings)
      await controlCatalog(catalog, 'generation?value=1')
      const changed = await measureWalk(run, catalog, settings)
      await controlCatalog(catalog, 'generation?value=0')
      return { first, unchanged, changed }
    }
    const subjects = {
      loop: fetchAndParse,
      walks: () => walkThrice('400'),
      withoutHistory: () => walkThrice('0'),
    }
    const measured = await runRounds(run, subjects, { warmUp: false })
    const rounds = {
      'fetched and parsed': measured.loop,
      'first walk': measured.walks.map(({ first }) => first),
      'nothing changed': measured.walks.map(({ unchanged }) => unchanged),
      '1 % changed': measured.walks.map(({ changed }) => changed),
      'first walk, no history': measured.withoutHistory.map(({ first }) => first),
      'nothing changed, no history': measured.withoutHistory.map(({ unchanged }) => unchanged),
      '1 % changed, no history': measured.withoutHistory.map(({ changed }) => changed),
    }
    const names = Object.keys(rounds).slice(1)
    const walked = names.slice(0, 3)
    const cpuWithHistory = computeRatio(rounds, {
      of: '1 % changed',
      to: '1 % changed, no history',
      field: 'cpuUs',
    })
    const toLoop = (name) => computeRatio(rounds, { of: name, to: 'fetched and parsed', field: 'perSecond' })
    return {
      tables: [
        {
          title: `Walks of ${products.toLocaleString('en')} products`,
          columns: ['', 'products/s', 'CPU µs a product', 'peak MB'],
          rows: Object.entries(rounds).map(([name, list]) => [
            name,
            Math.round(computeFieldMedian(list, 'perSecond')),
            ...['cpuUs', 'peakMb'].map((field) =>
              names.includes(name) ? Math.round(computeFieldMedian(list, field)) : '',
            ),
          ]),
        },
      ],
      targets: [
        ...walked.map((name, index) =>
          checkTarget(`${name}, relative to fetching and parsing`, toLoop(name), {
            atLeast: index === 0 ? 0.2 : 0.4,
            products,
          }),
        ),
        checkTarget('CPU of 1 % changed, relative to no history', cpuWithHistory, { atMost: 1.15, products }),
      ],
      rounds,
    }
  },
}
