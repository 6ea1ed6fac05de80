import { fileURLToPath } from 'node:url'
import { judge } from '../lib/report.mjs'
import { computeMedian } from '../lib/statistics.mjs'
import { startCatalog, startWalkedVitrine, toBoxPath, toGridPath } from '../lib/vitrine.mjs'

const CLIENT = fileURLToPath(new URL('../lib/rate-client.mjs', import.meta.url))

/** Requests a second. */
const RATES = { 'warm box': 500, 'ordinary grid': 10, 'hostile grid': 100 }

/** `{n}` is another number in each request: no grid is in memory. */
const GRID = toGridPath()
const HOSTILE = [
  `${GRID}?q=nothing{n}`,
  `${GRID}?brand=Nobody{n}`,
  `${GRID}?merchant=Nobody{n}`,
  `${GRID}?exclude=Harbour+Market&exclude=Nobody{n}&page=900&limit=60&sort=saving`,
  `${GRID}?max_price=0.{n}`,
  `${GRID}?q=s&exclude=Nobody{n}`,
  `${GRID}?brand=Sonderby&q=lamp&merchant=Harbour+Market&max_price=20.{n}&sort=newest`,
]
/** First pages with another length or order each time. */
const ORDINARY = ['discount', 'saving', 'price', 'newest'].flatMap((sort) =>
  Array.from({ length: 60 }, (_, index) => `${GRID}?sort=${sort}&limit=${index + 1}`),
)

/** Strangers ask for grids that are hard to find, while readers visit warm boxes and ordinary grids. */
export const grids = {
  name: 'grids',
  about: 'warm boxes and ordinary grids, alone and beside 100 hostile grids a second',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const { products } = run.options
    const catalog = await startCatalog(run, { count: products })
    // Not pinned: the threads that read grids want a core of their own.
    const vitrine = await startWalkedVitrine(run, catalog, { cpu: null })
    await run.stop(catalog.child)
    const seconds = Math.max(5, run.options.seconds)
    const paths = { 'warm box': [toBoxPath(0)], 'ordinary grid': ORDINARY, 'hostile grid': HOSTILE }
    let first = 0
    const ask = async (names) => {
      const kinds = names.map((name) => ({ name, paths: paths[name], perSecond: RATES[name], first }))
      first += 100_000
      const order = JSON.stringify({ origin: vitrine.origin, kinds, seconds })
      return JSON.parse(await run.runToEnd([CLIENT, order]))
    }
    const quietNames = ['warm box', 'ordinary grid']
    const loadedNames = [...quietNames, 'hostile grid']
    await ask(quietNames)
    const rounds = []
    for (let round = 0; round < run.options.rounds; round += 1)
      rounds.push({ quiet: await ask(quietNames), loaded: await ask(loadedNames) })
    const find = (phase, name, field) => computeMedian(rounds.map((round) => round[phase][name][field]))
    const toRow = (phase, label) => (name) => [
      `${name}, ${label}`,
      ...['p50Ms', 'p99Ms', 'maxMs'].map((field) => find(phase, name, field).toFixed(2)),
      rounds.reduce((sum, round) => sum + round[phase][name].unavailable, 0),
    ]
    const longestMs = Math.max(...loadedNames.slice(1).map((name) => find('loaded', name, 'maxMs')))
    const ms = { unit: ' ms', digits: 0, products }
    return {
      tables: [
        {
          title: `Over ${products.toLocaleString('en')} products, medians of the rounds`,
          columns: ['', 'p50 ms', 'p99 ms', 'longest ms', 'unavailable'],
          rows: [
            ...quietNames.map(toRow('quiet', 'quiet')),
            ...loadedNames.map(toRow('loaded', 'beside hostile grids')),
          ],
        },
      ],
      targets: [
        judge('warm box beside hostile grids, p99', find('loaded', 'warm box', 'p99Ms'), {
          atMost: 20,
          ...ms,
        }),
        judge('ordinary grid, p99', find('loaded', 'ordinary grid', 'p99Ms'), { atMost: 100, ...ms }),
        judge('every grid, longest', longestMs, { atMost: 1_000, ...ms }),
      ],
      rounds,
    }
  },
}
