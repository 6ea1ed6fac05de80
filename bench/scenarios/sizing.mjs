import { createPostgresDatabases, createSqliteDatabases } from '../lib/databases.mjs'
import { measureMost } from '../lib/load.mjs'
import { readCpuSeconds, readMemory } from '../lib/proc.mjs'
import { waitUntil } from '../lib/processes.mjs'
import { computeFieldMedian } from '../lib/statistics.mjs'
import { askCatalog, fetchAnswer, startCatalog, startVitrine, toBoxUrl, toSettings } from '../lib/vitrine.mjs'
import { measureVisits } from '../lib/visits.mjs'
import { measureWalk } from '../lib/walks.mjs'

const MILLION = 1e6
/** Boxes that are visited once each, so that each is made; fewer where the catalog is smaller. */
const MOST_VISITS = 4_000
/** Small channels whose cost is that of being a channel: a page each. */
const MOST_CHANNELS = 500
const PRODUCTS_OF_A_CHANNEL = 20

/** What views, products and channels cost with the stored copy in SQLite. */
export const sizing = createSizing({
  name: 'sizing',
  about: 'cost per million views, per million products and per channel, on SQLite',
  createDatabases: createSqliteDatabases,
})

/** The same with the stored copy in PostgreSQL. */
export const sizingPostgres = createSizing({
  name: 'sizing-postgres',
  about: 'the same on PostgreSQL (--database)',
  isBig: true,
  createDatabases: createPostgresDatabases,
})

function createSizing({ createDatabases, ...scenario }) {
  return {
    ...scenario,
    page: 'docs/sizing.md',
    /** @param {import('../lib/run.mjs').Run} run */
    async run(run) {
      const databases = createDatabases(run)
      const views = await measureViews(run, databases)
      const products = await measureProducts(run, databases)
      const channels = await measureChannels(run, databases)
      return {
        tables: [
          toViewTable(views, databases),
          toProductTable(products, databases),
          toChannelTable(channels),
        ],
        notes: [
          'CPU time of the server or of the walk, both of its threads and the start of the program included; wall time says more about the machine.',
          'The catalog is a process of the bench that answers from ready bytes: what a real one takes comes on top as waiting, not as CPU time.',
        ],
        rounds: { views, products, channels },
      }
    },
  }
}

/** Each kind of view, by what the server has to do for it. */
async function measureViews(run, databases) {
  const visits = Math.min(MOST_VISITS, run.options.products)
  const views = []
  const catalog = await startCatalog(run, { count: 3 * visits })
  const walked = { ...toSettings(catalog, ''), VITRINE_DATABASE_URL: databases.createUrl() }
  await measureWalk(run, catalog, walked)
  const fresh = await startVitrine(run, { settings: walked })
  // Compiled and connected before anything counts.
  await measureVisits(fresh, { first: 2 * visits, count: visits })
  const made = await measureLogged(databases, fresh, { first: 0, count: visits })
  views.push(
    { name: 'hot', ...made, logBytes: 0, ...(await visitHot(run, fresh)) },
    { name: 'made from the copy', ...made },
  )
  await run.processes.stop(fresh.child)

  const agedSettings = { ...walked, VITRINE_FRESH_SECONDS: '1' }
  const aged = await startVitrine(run, { settings: agedSettings })
  const settle = async (visited) => {
    const isCalled = async () => (await askCatalog(catalog, 'state')).lookups >= visited
    await waitUntil(isCalled, { what: 'every old box is refreshed', child: aged.child })
  }
  await askCatalog(catalog, 'reset')
  await measureVisits(aged, { first: 2 * visits, count: visits, settle })
  await askCatalog(catalog, 'reset')
  const stale = await measureLogged(databases, aged, { first: visits, count: visits, settle })
  views.push({ name: 'old: sent, and refreshed behind by a call', ...stale })
  await run.processes.stop(aged.child)
  await run.processes.stop(catalog.child)

  const other = await startCatalog(run, { count: 2 * visits })
  const empty = { ...toSettings(other, ''), VITRINE_DATABASE_URL: databases.createUrl() }
  // What a visit costs is asked here, and not how long it takes on a busy machine.
  const patient = { VITRINE_SYNC_CRON: 'off', VITRINE_VISITOR_TIMEOUT_MS: '8000' }
  const cold = await startVitrine(run, { settings: { ...empty, ...patient } })
  await measureVisits(cold, { first: visits, count: visits })
  views.push({
    name: 'unknown: waited for a call',
    ...(await measureLogged(databases, cold, { first: 0, count: visits })),
  })
  await run.processes.stop(cold.child)
  await run.processes.stop(other.child)
  return views
}

/** Visits, with what the database wrote to its log for each, where that is counted. */
async function measureLogged({ measureLogBytes }, server, boxes) {
  const before = await measureLogBytes?.()
  const found = await measureVisits(server, boxes)
  const after = await measureLogBytes?.()
  return { ...found, logBytes: after === undefined ? undefined : (after - before) / boxes.count }
}

async function visitHot(run, server) {
  const url = toBoxUrl(server, 0)
  const rounds = []
  for (let round = 0; round <= run.options.rounds; round += 1) {
    const before = readCpuSeconds(server.pid)
    const { requests } = await measureMost(run, { url })
    rounds.push({ cpuUs: ((readCpuSeconds(server.pid) - before) / requests) * 1e6 })
  }
  // The first one warmed it up.
  return { cpuUs: computeFieldMedian(rounds.slice(1), 'cpuUs') }
}

/** Walks of a tenth and of all of `--products`: the first, one without a change, and one with a product in a hundred changed. */
async function measureProducts(run, databases) {
  const found = []
  for (const count of [Math.max(200, Math.round(run.options.products / 10)), run.options.products]) {
    run.say(`  walks of ${count.toLocaleString('en')} products`)
    const catalog = await startCatalog(run, { count })
    const url = databases.createUrl()
    const settings = { ...toSettings(catalog, ''), VITRINE_DATABASE_URL: url }
    const emptyBytes = databases.measureLogBytes === null ? 0 : await databases.measureBytes(url)
    const measure = async () => {
      const before = await databases.measureLogBytes?.()
      const walk = await measureWalk(run, catalog, settings)
      const after = await databases.measureLogBytes?.()
      const databaseBytes = (await databases.measureBytes(url)) - emptyBytes
      return { ...walk, databaseBytes, logBytes: after === undefined ? undefined : after - before }
    }
    const walks = { 'first walk': await measure(), 'nothing changed': await measure() }
    await askCatalog(catalog, 'generation?value=1')
    walks['1 % changed'] = await measure()
    found.push({ count, walks })
    await run.processes.stop(catalog.child)
  }
  return found
}

/** What many small channels take beyond what their products would take in one. */
async function measureChannels(run, databases) {
  const channelCount = Math.min(MOST_CHANNELS, Math.ceil(run.options.products / PRODUCTS_OF_A_CHANNEL))
  run.say(`  ${channelCount} small channels`)
  const measure = async ({ channels, count }) => {
    const catalog = await startCatalog(run, { channels, count })
    const url = databases.createUrl()
    const settings = { ...toSettings(catalog, ''), VITRINE_DATABASE_URL: url }
    const emptyBytes = databases.measureLogBytes === null ? 0 : await databases.measureBytes(url)
    const first = await measureWalk(run, catalog, settings)
    const again = await measureWalk(run, catalog, settings)
    const bytes = (await databases.measureBytes(url)) - emptyBytes
    const server = await startVitrine(run, { settings })
    await fetchAnswer(toBoxUrl(server, 0))
    const { rssMb } = readMemory(server.pid) ?? { rssMb: 0 }
    await run.processes.stop(server.child)
    await run.processes.stop(catalog.child)
    return { first, again, bytes, rssMb }
  }
  const many = await measure({ channels: channelCount, count: PRODUCTS_OF_A_CHANNEL })
  const one = await measure({ channels: 1, count: channelCount * PRODUCTS_OF_A_CHANNEL })
  return { channelCount, many, one }
}

function toViewTable(views, { measureLogBytes }) {
  const hasLog = measureLogBytes !== null
  return {
    title: 'A million views that reach a server',
    columns: ['', 'CPU s', 'GB sent', ...(hasLog ? ['GB of log'] : [])],
    rows: views.map(({ name, cpuUs, bytes, logBytes }) => [
      name,
      cpuUs.toFixed(0),
      ((bytes * MILLION) / 1e9).toFixed(2),
      ...(hasLog ? [((logBytes * MILLION) / 1e9).toFixed(2)] : []),
    ]),
  }
}

function perMillion(value, count) {
  return (value / count) * MILLION
}

function toProductTable(found, { measureLogBytes }) {
  const hasLog = measureLogBytes !== null
  const rows = found.flatMap(({ count, walks }) =>
    Object.entries(walks).map(([name, walk]) => [
      `${count.toLocaleString('en')}, ${name}`,
      Math.ceil(perMillion(walk.pages, count)),
      (perMillion(walk.bytes, count) / 1e9).toFixed(2),
      perMillion(walk.seconds, count).toFixed(0),
      perMillion(walk.cpuSeconds, count).toFixed(0),
      ...(hasLog ? [(perMillion(walk.logBytes, count) / 1e9).toFixed(2)] : []),
      (perMillion(walk.databaseBytes, count) / 1e9).toFixed(2),
    ]),
  )
  return {
    title: 'A walk of a million products, from walks of fewer',
    columns: [
      'walked',
      'calls',
      'GB fetched',
      'seconds',
      'CPU s',
      ...(hasLog ? ['GB of log'] : []),
      'GB of database after it',
    ],
    rows,
  }
}

function toChannelTable({ channelCount, many, one }) {
  const others = channelCount - 1
  const perChannel = (read) => Math.max(0, (read(many) - read(one)) / others)
  return {
    title: `A channel, from ${channelCount} with ${PRODUCTS_OF_A_CHANNEL} products each beside one with all of them`,
    columns: ['', 'of a channel'],
    rows: [
      ['calls of a walk, at least', 1],
      ['CPU ms of a first walk', (perChannel(({ first }) => first.cpuSeconds) * 1e3).toFixed(1)],
      ['CPU ms of a walk without a change', (perChannel(({ again }) => again.cpuSeconds) * 1e3).toFixed(1)],
      ['kB of database', (perChannel(({ bytes }) => bytes) / 1e3).toFixed(1)],
      ['MB of memory', perChannel(({ rssMb }) => rssMb).toFixed(2)],
    ],
  }
}
