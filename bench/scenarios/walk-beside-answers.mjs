import { createWriteStream, existsSync, readFileSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CHANNEL, createCatalogData, toGtin } from '../lib/catalog-data.mjs'
import { collectAtRate } from '../lib/load.mjs'
import { readMemory } from '../lib/proc.mjs'
import { waitUntil } from '../lib/processes.mjs'
import { judgeAtMost, judgeOfMany } from '../lib/report.mjs'
import { computeQuantile } from '../lib/statistics.mjs'
import {
  fetchAnswer,
  nameDatabase,
  runVitrine,
  startCatalog,
  startVitrine,
  toSettings,
} from '../lib/vitrine.mjs'
import { isWalked } from '../lib/walks.mjs'

const PER_SECOND = 2_000
const MONITOR = pathToFileURL(join(import.meta.dirname, '../lib/loop-delay.mjs')).href

/** Readers who ask while the catalog is walked by the same server. */
export const walkBesideAnswers = {
  name: 'walk-beside-answers',
  about: 'hot boxes at 2,000 requests a second while the same server walks --products products',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    if (run.tools.h2load === undefined)
      return { tables: [], notes: ['h2load is not installed here: a fixed rate cannot be asked for.'] }
    const count = run.options.products
    const catalog = await startCatalog(run, { count })
    const remote = await measureBeside(run, {
      settings: toSettings(catalog, nameDatabase(run)),
      channelId: CHANNEL.id,
    })
    await run.processes.stopAll()
    run.say('  over a catalog of its own process')
    const own = await measureBeside(run, await importCatalog(run, count))
    run.say('  over the embedded catalog service')
    const places = { 'catalog of its own process': remote, 'embedded catalog service': own }
    const rows = Object.entries(places).flatMap(([name, { during, after }]) => [
      toRow(`${name}, during the walk`, during),
      toRow(`${name}, after it`, after),
    ])
    return {
      tables: [
        {
          title: `Hot boxes at ${PER_SECOND} a second beside a walk of ${count.toLocaleString('en')} products, ms`,
          columns: ['', 'box p50', 'box p99', 'box max', 'loop p99', 'loop max', 'requests'],
          rows,
        },
      ],
      promises: Object.entries(places).flatMap(([name, { during }]) =>
        judge(name, during).map((judged) => judgeOfMany(count, judged)),
      ),
      notes: ['Nothing is pinned to a core here: the walk has a thread of its own, and wants one.'],
      rounds: places,
      memoryMb: { 'after the walk': remote.memoryMb, 'with the embedded catalog': own.memoryMb },
    }
  },
}

function judge(name, { p99Ms, loop }) {
  return [
    judgeAtMost(`${name}: delay of the event loop, p99`, { value: loop.p99Ms, limit: 10, unit: ' ms' }),
    judgeAtMost(`${name}: box at ${PER_SECOND} a second, p99`, { value: p99Ms, limit: 20, unit: ' ms' }),
  ]
}

/** Writes the catalog as a feed and imports it; gives the settings of a server that has it inside. */
async function importCatalog(run, count) {
  const data = createCatalogData({ count })
  const file = join(run.folder, 'feed.ndjson')
  const stream = createWriteStream(file)
  for (let index = 0; index < count; index += 1) {
    if (!stream.write(Buffer.concat([data.toProduct(index), Buffer.from('\n')]))) await once(stream, 'drain')
  }
  stream.end()
  await once(stream, 'finish')
  const {
    VITRINE_CATALOG_URL: _url,
    VITRINE_CATALOG_KEY: _key,
    ...settings
  } = toSettings({ origin: '' }, nameDatabase(run))
  const own = { ...settings, VITRINE_CATALOG_DATABASE_URL: `sqlite:${nameDatabase(run)}` }
  const words = ['catalog', 'import', file, '--format', 'ndjson', '--json']
  const { channel } = JSON.parse((await runVitrine(run, words, own)).trim().split('\n').at(-1))
  rmSync(file)
  return { settings: own, channelId: channel }
}

/** Starts a server without a copy, and asks for one box all the while until it has walked the catalog. */
async function measureBeside(run, { settings, channelId }) {
  const loopFile = join(run.folder, 'loop.json')
  const vitrine = await startVitrine(run, {
    settings: { ...settings, BENCH_LOOP_FILE: loopFile },
    nodeOptions: ['--import', MONITOR],
    cpus: null,
  })
  const url = `${vitrine.origin}/fragments/${channelId}/where-to-buy/${toGtin(0)}`
  const isShown = async () => (await fetchAnswer(url)).headers['vitrine-state'] === 'shown'
  await waitUntil(isShown, { what: 'the first box', child: vitrine.child })
  const database = settings.VITRINE_DATABASE_URL.replace('sqlite:', '')
  const ask = () => collectAtRate(run, { url, perSecond: PER_SECOND, seconds: 1, cpus: null })
  // Until everything is compiled and connected.
  await ask()
  await readLoop(vitrine, loopFile)
  const latencies = []
  do latencies.push(await ask())
  while (!isWalked(database))
  const during = { ...summarize(latencies.flat()), loop: await readLoop(vitrine, loopFile) }
  const after = { ...summarize([await ask(), await ask()].flat()), loop: await readLoop(vitrine, loopFile) }
  const memoryMb = readMemory(vitrine.pid)?.rssMb ?? 0
  await run.processes.stop(vitrine.child)
  return { during, after, memoryMb }
}

async function readLoop(vitrine, file) {
  rmSync(file, { force: true })
  vitrine.child.kill('SIGUSR2')
  await waitUntil(async () => existsSync(file) && readFileSync(file, 'utf8').endsWith('}'), {
    what: 'the delays of the event loop',
    child: vitrine.child,
  })
  return JSON.parse(readFileSync(file, 'utf8'))
}

function summarize(latencies) {
  const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((share) => computeQuantile(latencies, share))
  return { p50Ms, p99Ms, maxMs, requests: latencies.length }
}

function toRow(name, { p50Ms, p99Ms, maxMs, loop, requests }) {
  return [name, ...[p50Ms, p99Ms, maxMs, loop.p99Ms, loop.maxMs].map((ms) => ms.toFixed(2)), requests]
}
