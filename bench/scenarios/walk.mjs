import { judgeAtLeast, judgeAtMost } from '../lib/report.mjs'
import { computeRatio, runRounds } from '../lib/rounds.mjs'
import { computeFieldMedian, computeMedian } from '../lib/statistics.mjs'
import { askCatalog, nameDatabase, startCatalog, toSettings } from '../lib/vitrine.mjs'
import { countWritten, measureFetchLoop, measureWalk } from '../lib/walks.mjs'

/** A round is a whole walk: more of them than three would take minutes. */
const MOST_ROUNDS = 3
const MILLION = 1_000_000
const COLUMNS = ['', 'products/s', 'seconds', 'peak MB', 'growth MB', 'products written']

/** The whole catalog into an empty copy, and again. */
export const walk = {
  name: 'walk',
  about: 'a walk of --products products beside a loop that only fetches and parses them',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const count = run.options.products
    const catalog = await startCatalog(run, { count })
    let settings = {}
    let database = ''
    const walkAnew = () => {
      database = nameDatabase(run)
      settings = toSettings(catalog, database)
      return measureWalk(run, catalog, settings)
    }
    const subjects = { 'fetched and parsed': () => measureFetchLoop(run, catalog), 'first walk': walkAnew }
    const rounds = Math.min(run.options.rounds, MOST_ROUNDS)
    const results = await runRounds(run, subjects, { rounds, warmUp: false })
    const again = await walkAgain(run, catalog, { settings, database })
    const value = computeRatio(results, { own: 'first walk', peer: 'fetched and parsed' })
    return {
      tables: [
        {
          title: `A walk of ${count.toLocaleString('en')} products`,
          columns: COLUMNS,
          rows: [
            toRow('fetched and parsed', results['fetched and parsed']),
            toRow('first walk', results['first walk'], count),
            ...again.rows,
          ],
        },
      ],
      promises: [
        judgeAtLeast('of the speed of fetching and parsing', { value, limit: 0.4 }),
        ...again.promises,
      ],
      rounds: { ...results, ...again.results },
    }
  },
}

/** What a walk of a million costs more than one of a hundred thousand. */
export const walkMillion = {
  name: 'walk-million',
  about: 'a walk of 1,000,000 products: speed, memory, and growth of the cost',
  isBig: true,
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const rows = []
    const found = {}
    for (const count of [MILLION / 10, MILLION]) {
      const catalog = await startCatalog(run, { count })
      const database = nameDatabase(run)
      const settings = toSettings(catalog, database)
      const loop = await measureFetchLoop(run, catalog)
      run.say(`  ${count} products fetched and parsed`)
      const first = await measureWalk(run, catalog, settings)
      run.say(`  ${count} products walked`)
      const again = await walkAgain(run, catalog, { settings, database })
      const label = count.toLocaleString('en')
      rows.push(toRow(`${label}, fetched and parsed`, [loop]), toRow(`${label}, first walk`, [first], count))
      rows.push(...again.rows.map(([name, ...cells]) => [`${label}, ${name}`, ...cells]))
      found[label] = { loop: [loop], first: [first], ...again.results, promises: again.promises }
    }
    const [small, large] = Object.values(found)
    const growth = large.first[0].seconds / small.first[0].seconds
    return {
      tables: [{ title: 'Walks of a hundred thousand and of a million', columns: COLUMNS, rows }],
      promises: [
        judgeAtMost('growth of memory at 1,000,000', {
          value: large.first[0].growthMb,
          limit: 150,
          unit: ' MB',
          digits: 0,
        }),
        ...large.promises,
      ],
      notes: [`Ten times the products take ${growth.toFixed(1)} times as long.`],
      rounds: found,
    }
  },
}

/** The same catalog once more, and once more with one product in a hundred at another price. */
async function walkAgain(run, catalog, { settings, database }) {
  const unchanged = await measureWalk(run, catalog, settings)
  const writtenUnchanged = countWritten(database)
  const { changedCount } = await askCatalog(catalog, 'generation?value=1')
  const changed = await measureWalk(run, catalog, settings)
  const writtenChanged = countWritten(database)
  await askCatalog(catalog, 'generation?value=0')
  return {
    rows: [
      toRow('second walk, nothing changed', [unchanged], writtenUnchanged),
      toRow('third walk, 1 % changed', [changed], writtenChanged),
    ],
    promises: [
      judgeCount('products written by an unchanged walk', { written: writtenUnchanged, wanted: 0 }),
      judgeCount('products written by a walk with 1 % changed', {
        written: writtenChanged,
        wanted: changedCount,
      }),
    ],
    results: { unchanged: [unchanged], changed: [changed] },
  }
}

function toRow(name, rounds, written) {
  const find = (field) => {
    const values = rounds.map((round) => round[field]).filter((value) => value !== undefined)
    return values.length === 0 ? '' : Math.round(computeMedian(values))
  }
  const seconds = computeFieldMedian(rounds, 'seconds').toFixed(2)
  return [
    name,
    find('perSecond'),
    seconds,
    find('peakMb'),
    find('growthMb'),
    written?.toLocaleString('en') ?? '',
  ]
}

function judgeCount(text, { written, wanted }) {
  const [measured, expected] = [written, wanted].map((count) => count.toLocaleString('en'))
  return { text: `${text}: exactly ${expected}`, measured, holds: written === wanted }
}
