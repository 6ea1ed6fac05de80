import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCatalogData } from '../lib/catalog-data.mjs'
import { findFreePort, waitUntil } from '../lib/processes.mjs'
import { judgeAtLeast, judgeOfMany } from '../lib/report.mjs'
import { computeRatio, runRounds } from '../lib/rounds.mjs'
import { computeFieldMedian } from '../lib/statistics.mjs'
import {
  fetchAnswer,
  nameDatabase,
  runVitrine,
  startCatalogService,
  startSync,
  toSettings,
} from '../lib/vitrine.mjs'
import { countWritten, measureFetchLoop } from '../lib/walks.mjs'

const PAGE = 200
const LOOP = 'fetched and parsed'
const WALK = 'first walk'

/** The first walk of a catalog that has to read its pages itself: the catalog service of this program. */
export const walkService = {
  name: 'walk-service',
  about: 'the first walk of the same products, served by the catalog service of this program',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const count = run.options.products
    const catalog = await startService(run, count)
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

/** Imports the products of the bench into a catalog service and starts it. */
async function startService(run, count) {
  const feed = join(run.folder, 'feed.ndjson')
  writeFeed(feed, count)
  const port = await findFreePort()
  const settings = {
    VITRINE_DATABASE_URL: `sqlite:${nameDatabase(run)}`,
    VITRINE_LOG_LEVEL: 'warn',
    VITRINE_PORT: String(port),
  }
  await runVitrine(run, ['catalog', 'import', feed, '--json'], settings)
  const [{ id }] = JSON.parse(await runVitrine(run, ['catalog', 'channels', '--json'], settings))
  const { key } = JSON.parse(await runVitrine(run, ['catalog', 'keys', 'add', 'bench', '--json'], settings))
  const child = startCatalogService(run, settings)
  const origin = `http://127.0.0.1:${port}`
  const headers = { authorization: `Bearer ${key}` }
  const isUp = async () => (await fetchAnswer(`${origin}/v0/channels`, headers)).status === 200
  await waitUntil(isUp, { what: 'the catalog service', child })
  return { origin, channelId: id, key }
}

function writeFeed(file, count) {
  const data = createCatalogData({ count })
  const lines = []
  for (let first = 0; first < count; first += PAGE) {
    const { items } = JSON.parse(data.toPage({ first, limit: PAGE, generation: 0 }))
    for (const item of items) lines.push(JSON.stringify(item))
  }
  writeFileSync(file, `${lines.join('\n')}\n`)
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
