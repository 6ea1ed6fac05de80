import { judgeAtLeast, judgeAtMost, judgeOfMany } from '../lib/report.mjs'
import { computeRatio, runRounds } from '../lib/rounds.mjs'
import { computeFieldMedian, computeMedian } from '../lib/statistics.mjs'
import { askCatalog, nameDatabase, startCatalog, toSettings } from '../lib/vitrine.mjs'
import { countWritten, measureFetchLoop, measureWalk } from '../lib/walks.mjs'

const MILLION = 1_000_000
const LOOP = 'fetched and parsed'
const COLUMNS = ['', 'products/s', 'seconds', 'CPU µs a product', 'peak MB', 'growth MB', 'products written']
const NOTES = [
  'The loop and the walks run one after the other, each free to use every core that the machine has; the catalog is on one of them.',
]

/** The whole catalog into an empty copy, and again. */
export const walk = {
  name: 'walk',
  about: 'a walk of --products products beside a loop that only fetches and parses them',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const count = run.options.products
    const catalog = await startCatalog(run, { count })
    const results = await runWalks(run, catalog, run.options.rounds)
    return {
      tables: [
        {
          title: `A walk of ${count.toLocaleString('en')} products`,
          columns: COLUMNS,
          rows: Object.entries(results).map(([name, rounds]) => toRow(name, rounds)),
        },
      ],
      promises: [
        ...Object.keys(results)
          .filter((name) => name !== LOOP)
          .map((name) => judgeOfMany(count, judgeSpeed(results, name))),
        ...judgeWritten(results),
      ],
      notes: NOTES,
      rounds: results,
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
      const results = await runWalks(run, catalog, 1)
      const label = count.toLocaleString('en')
      rows.push(...Object.entries(results).map(([name, rounds]) => toRow(`${label}, ${name}`, rounds)))
      found[label] = results
    }
    const [small, large] = Object.values(found)
    const growth = large['first walk'][0].seconds / small['first walk'][0].seconds
    const growthMb = Math.max(...WALKS.map((name) => large[name][0].growthMb))
    return {
      tables: [{ title: 'Walks of a hundred thousand and of a million', columns: COLUMNS, rows }],
      promises: [
        judgeAtMost('growth of memory at 1,000,000', { value: growthMb, limit: 150, unit: ' MB', digits: 0 }),
        ...WALKS.map((name) => judgeSpeed(large, name)),
        ...judgeWritten(large),
      ],
      notes: [...NOTES, 'One round each.', `Ten times the products take ${growth.toFixed(1)} times as long.`],
      rounds: found,
    }
  },
}

const WALKS = ['first walk', 'second walk, nothing changed', 'third walk, 1 % changed']

/**
 * Rounds of the loop, a walk into an empty copy, one of the same catalog, and one with a product in a hundred at another price.
 * What a walk wrote, and what it should have, stands with its round.
 */
async function runWalks(run, catalog, rounds) {
  let settings = {}
  let database = ''
  const measure = async (wanted) => {
    const result = await measureWalk(run, catalog, settings)
    return { ...result, written: countWritten(database), wanted: wanted ?? result.products }
  }
  const [first, second, third] = WALKS
  // Walks of a round build on each other: their order stays, and only the loop comes first or last in turn.
  const walkAll = async () => {
    database = nameDatabase(run)
    settings = toSettings(catalog, database)
    const walks = { [first]: await measure(), [second]: await measure(0) }
    const { changedCount } = await askCatalog(catalog, 'generation?value=1')
    walks[third] = await measure(changedCount)
    await askCatalog(catalog, 'generation?value=0')
    return walks
  }
  const subjects = { [LOOP]: () => measureFetchLoop(run, catalog), walks: walkAll }
  const { walks, ...results } = await runRounds(run, subjects, { rounds, warmUp: false })
  for (const name of WALKS) results[name] = walks.map((round) => round[name])
  return results
}

function judgeSpeed(results, name) {
  const value = computeRatio(results, { own: name, peer: LOOP })
  const limit = name === WALKS[0] ? 0.2 : 0.4
  return judgeAtLeast(`${name}, of the speed of fetching and parsing`, { value, limit })
}

function judgeWritten(results) {
  return WALKS.map((name) => judgeCount(`products written by the ${name}`, results[name]))
}

function toRow(name, rounds) {
  const find = (field) => {
    const values = rounds.map((round) => round[field]).filter((value) => value !== undefined)
    return values.length === 0 ? '' : Math.round(computeMedian(values))
  }
  const seconds = computeFieldMedian(rounds, 'seconds').toFixed(2)
  return [
    name,
    find('perSecond'),
    seconds,
    find('cpuUs'),
    find('peakMb'),
    find('growthMb'),
    rounds.at(-1).written?.toLocaleString('en') ?? '',
  ]
}

/** Every round must have written what it should have; the first that has not is shown, or the last. */
function judgeCount(text, rounds) {
  const round = rounds.find(({ written, wanted }) => written !== wanted) ?? rounds.at(-1)
  const [measured, expected] = [round.written, round.wanted].map((count) => count.toLocaleString('en'))
  return { text: `${text}: exactly ${expected}`, measured, holds: round.written === round.wanted }
}
