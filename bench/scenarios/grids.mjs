import { fileURLToPath } from 'node:url'
import { checkTarget } from '../lib/report.mjs'
import { computeMedian } from '../lib/statistics.mjs'
import { startCatalog, startWalkedVitrine, toBoxPath, toGridPath } from '../lib/vitrine.mjs'

const CLIENT = fileURLToPath(new URL('../lib/rate-client.mjs', import.meta.url))

/** Requests a second. */
const RATES = { 'warm box': 500, 'ordinary grid': 10, 'hostile grid': 100 }

/** `{n}` is a new number in each request, so that no grid is cached. */
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
/** First pages with different lengths and orders. */
const ORDINARY = ['discount', 'saving', 'price', 'newest'].flatMap((sort) =>
  Array.from({ length: 60 }, (_, index) => `${GRID}?sort=${sort}&limit=${index + 1}`),
)

/** Warm boxes and ordinary grids under a load of expensive, hostile grid requests. */
export const grids = {
  name: 'grids',
  about: 'warm boxes and ordinary grids, alone and with 100 hostile grids a second',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const { products } = run.options
    const catalog = await startCatalog(run, { count: products })
    // Not pinned: the threads that read grids need a core of their own.
    const vitrine = await startWalkedVitrine(run, catalog, { cpu: null })
    await run.stop(catalog.child)
    const seconds = Math.max(5, run.options.seconds)
    const paths = { 'warm box': [toBoxPath(0)], 'ordinary grid': ORDINARY, 'hostile grid': HOSTILE }
    let first = 0
    const measure = async (names) => {
      const kinds = names.map((name) => ({ name, paths: paths[name], perSecond: RATES[name], first }))
      first += 100_000
      const options = JSON.stringify({ origin: vitrine.origin, kinds, seconds })
      return JSON.parse(await run.runToEnd([CLIENT, options]))
    }
    const quietNames = ['warm box', 'ordinary grid']
    const loadedNames = [...quietNames, 'hostile grid']
    await measure(quietNames)
    const rounds = []
    for (let round = 0; round < run.options.rounds; round += 1)
      rounds.push({ quiet: await measure(quietNames), loaded: await measure(loadedNames) })
    const getMedian = (phase, name, field) => computeMedian(rounds.map((round) => round[phase][name][field]))
    const toRow = (phase, label) => (name) => [
      `${name}, ${label}`,
      ...['p50Ms', 'p99Ms', 'maxMs'].map((field) => getMedian(phase, name, field).toFixed(2)),
      rounds.reduce((sum, round) => sum + round[phase][name].unavailable, 0),
    ]
    const longestMs = Math.max(...loadedNames.slice(1).map((name) => getMedian('loaded', name, 'maxMs')))
    const ms = { unit: ' ms', digits: 0, products }
    return {
      tables: [
        {
          title: `Catalog of ${products.toLocaleString('en')} products, medians of the rounds`,
          columns: ['', 'p50 ms', 'p99 ms', 'longest ms', 'unavailable'],
          rows: [
            ...quietNames.map(toRow('quiet', 'alone')),
            ...loadedNames.map(toRow('loaded', 'with hostile grids')),
          ],
        },
      ],
      targets: [
        checkTarget('warm box with hostile grids, p99', getMedian('loaded', 'warm box', 'p99Ms'), {
          atMost: 20,
          ...ms,
        }),
        checkTarget('ordinary grid with hostile grids, p99', getMedian('loaded', 'ordinary grid', 'p99Ms'), {
          atMost: 100,
          ...ms,
        }),
        checkTarget('any grid, longest', longestMs, { atMost: 1_000, ...ms }),
      ],
      rounds,
    }
  },
}
