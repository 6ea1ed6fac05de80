import { fileURLToPath } from 'node:url'
import { collectAtRate } from '../lib/load.mjs'
import { judgeAtMost, judgeOfMany } from '../lib/report.mjs'
import { computeFieldMedian, computeQuantile } from '../lib/statistics.mjs'
import { CHANNEL } from '../lib/catalog-data.mjs'
import { startCatalog, startWalkedVitrine, toBoxUrl } from '../lib/vitrine.mjs'

const SCRIPT = fileURLToPath(new URL('../lib/rate-load.mjs', import.meta.url))
const MILLION = 1_000_000

/** Rates a second. Each hostile grid is another one, so that none is in memory. */
const BOXES = 500
const HOSTILE = 100
const ORDINARY = 10
const ROUNDS = 3

const GRID = `/fragments/${CHANNEL.id}/deals`
const HOSTILE_PATHS = [
  `${GRID}?q=nothing{n}`,
  `${GRID}?brand=Nobody{n}`,
  `${GRID}?merchant=Nobody{n}`,
  `${GRID}?exclude=Harbour+Market&exclude=Nobody{n}&page=900&limit=60&sort=saving`,
  `${GRID}?max_price=0.{n}`,
  `${GRID}?q=s&exclude=Nobody{n}`,
  `${GRID}?brand=Sonderby&q=lamp&merchant=Harbour+Market&max_price=20.{n}&sort=newest`,
]
const SORTS = ['discount', 'saving', 'price', 'newest']
/** First and second pages, no two alike. */
const ORDINARY_PATHS = Array.from(
  { length: 480 },
  (_, place) =>
    `${GRID}?sort=${SORTS[place % 4]}&limit=${1 + (Math.floor(place / 4) % 60)}&page=${1 + Math.floor(place / 240)}`,
)

/** Strangers who ask for the grids that are the dearest to find, while readers visit warm boxes and ordinary grids. */
export const hostileGrids = {
  name: 'hostile-grids',
  about: `hot boxes beside ${HOSTILE} cold grids a second that are hard to find, over --products products`,
  run: (run) => measure(run, run.options.products),
}

/** The same over a million products. */
export const hostileGridsMillion = {
  name: 'hostile-grids-1m',
  about: 'the same over 1,000,000 products (big)',
  isBig: true,
  run: (run) => measure(run, MILLION),
}

async function measure(run, count) {
  const catalog = await startCatalog(run, { count })
  const vitrine = await startWalkedVitrine(run, catalog, { count, cpus: null })
  await run.processes.stop(catalog.child)
  const boxUrl = toBoxUrl(vitrine, 0)
  const seconds = Math.max(5, run.options.seconds)
  let phase = 0
  /** Grids of each phase are others, so that all are cold. */
  const nextGrids = (hasHostile) => {
    phase += 1
    return {
      ordinary: { paths: ORDINARY_PATHS, perSecond: ORDINARY, first: phase * ORDINARY * seconds },
      ...(hasHostile && {
        hostile: { paths: HOSTILE_PATHS, perSecond: HOSTILE, first: phase * HOSTILE * seconds },
      }),
    }
  }
  const ask = async (kinds) => {
    const parameters = [SCRIPT, JSON.stringify({ origin: vitrine.origin, kinds, seconds })]
    return JSON.parse(await run.processes.run({ command: process.execPath, parameters }))
  }
  /** Boxes by a program that takes next to nothing from the two cores, where it is installed. */
  const askBeside = async (grids) => {
    if (run.tools.h2load === undefined)
      return ask({ ...grids, box: { paths: [new URL(boxUrl).pathname], perSecond: BOXES } })
    const boxes = collectAtRate(run, { url: boxUrl, perSecond: BOXES, seconds, cpus: null })
    return { ...(await ask(grids)), box: summarize(await boxes) }
  }
  // Until everything is compiled and connected.
  await askBeside(nextGrids(false))
  const rounds = []
  for (let round = 0; round < ROUNDS; round += 1)
    rounds.push({ quiet: await askBeside(nextGrids(false)), under: await askBeside(nextGrids(true)) })
  return describe(count, { quiet: toMedians(rounds, 'quiet'), under: toMedians(rounds, 'under'), rounds })
}

/** The median of each figure over the rounds; of requests and unavailable ones, all. */
function toMedians(rounds, phase) {
  const names = Object.keys(rounds[0][phase])
  return Object.fromEntries(
    names.map((name) => {
      const list = rounds.map((round) => round[phase][name])
      const [p50Ms, p99Ms, maxMs] = ['p50Ms', 'p99Ms', 'maxMs'].map((field) =>
        computeFieldMedian(list, field),
      )
      const sum = (pick) => list.reduce((total, result) => total + pick(result), 0)
      return [
        name,
        {
          p50Ms,
          p99Ms,
          maxMs,
          requests: sum(({ requests }) => requests),
          unavailable: sum(({ states }) => states['200 unavailable'] ?? 0),
        },
      ]
    }),
  )
}

function summarize(latencies) {
  const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((share) => computeQuantile(latencies, share))
  return { p50Ms, p99Ms, maxMs, requests: latencies.length, states: {} }
}

function describe(count, { quiet, under, rounds }) {
  const ratio = under.box.p99Ms / quiet.box.p99Ms
  const promises = [
    judgeAtMost('warm box beside hostile grids, p99 of its quiet p99', { value: ratio, limit: 2 }),
    judgeAtMost('warm box beside hostile grids, p99', { value: under.box.p99Ms, limit: 20, unit: ' ms' }),
    judgeAtMost('every grid, longest', {
      value: Math.max(under.hostile.maxMs, under.ordinary.maxMs),
      limit: 1_000,
      unit: ' ms',
    }),
    judgeAtMost('an ordinary cold grid, p99', { value: under.ordinary.p99Ms, limit: 100, unit: ' ms' }),
  ]
  return {
    tables: [
      {
        title: `Warm boxes (${BOXES} a second) and ordinary grids (${ORDINARY} a second), alone and beside ${HOSTILE} hostile grids a second over ${count.toLocaleString('en')} products, medians of ${ROUNDS} rounds, ms`,
        columns: ['', 'p50', 'p99', 'longest', 'requests', 'unavailable'],
        rows: [
          toRow('warm box, quiet', quiet.box),
          toRow('warm box, beside hostile grids', under.box),
          toRow('ordinary grid, quiet', quiet.ordinary),
          toRow('ordinary grid, beside hostile grids', under.ordinary),
          toRow('hostile grid', under.hostile),
        ],
      },
    ],
    promises: promises.map((judged) => judgeOfMany(count, judged)),
    notes: ['Nothing is pinned to a core here: the threads that read grids want one.'],
    rounds,
  }
}

function toRow(name, { p50Ms, p99Ms, maxMs, requests, unavailable }) {
  return [name, p50Ms.toFixed(2), p99Ms.toFixed(2), maxMs.toFixed(1), requests, unavailable]
}
