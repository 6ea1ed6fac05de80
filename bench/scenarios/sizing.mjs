import { createPostgresDatabases, createSqliteDatabases } from '../lib/databases.mjs'
import { measureMost } from '../lib/load.mjs'
import { readCpuSeconds, readMemory } from '../lib/proc.mjs'
import { waitUntil } from '../lib/processes.mjs'
import { toChannelTable, toProductTable, toViewTable } from '../lib/sizing-tables.mjs'
import { computeFieldMedian } from '../lib/statistics.mjs'
import {
  WITHOUT_A_WALK,
  askCatalog,
  fetchAnswer,
  startCatalog,
  startVitrine,
  toBoxUrl,
  toSettings,
} from '../lib/vitrine.mjs'
import { measureVisits } from '../lib/visits.mjs'
import { measureWalk } from '../lib/walks.mjs'

/** What a visit costs is asked here, and not how long it takes on a busy machine. */
const PATIENT = { VITRINE_VISITOR_TIMEOUT_MS: '8000' }
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
  about: 'the same on PostgreSQL, started for it or named by --database',
  isBig: true,
  createDatabases: createPostgresDatabases,
})

function createSizing({ createDatabases, ...scenario }) {
  return {
    ...scenario,
    page: 'docs/sizing.md',
    /** @param {import('../lib/run.mjs').Run} run */
    async run(run) {
      const databases = await createDatabases(run)
      try {
        return await measureAll(run, databases)
      } finally {
        await databases.stop()
      }
    },
  }
}

async function measureAll(run, databases) {
  const views = await measureViews(run, databases)
  const products = await measureProducts(run, databases)
  const channels = await measureChannels(run, databases)
  return {
    tables: [toViewTable(views, databases), toProductTable(products, databases), toChannelTable(channels)],
    notes: [
      'CPU time of the server or of the walk, both of its threads and the start of the program included; wall time says more about the machine.',
      'The catalog is a process of the bench that answers from ready bytes: what a real one takes comes on top as waiting, not as CPU time.',
      ...(databases.measureLogBytes === null
        ? []
        : [
            'A checkpoint stands before each line, as in five minutes of work: a page that changes is once put into the log as a whole. Another one ends it, and its CPU time counts as the database\u2019s.',
          ]),
    ],
    rounds: { views, products, channels },
  }
}

/** Each kind of view, by what the server has to do for it. */
async function measureViews(run, databases) {
  const visits = Math.min(MOST_VISITS, run.options.products)
  const { spread } = databases
  const views = []
  const catalog = await startCatalog(run, { count: 3 * visits * spread })
  const walked = { ...toSettings(catalog, ''), ...PATIENT, VITRINE_DATABASE_URL: databases.createUrl() }
  await measureWalk(run, catalog, walked)
  const fresh = await startVitrine(run, { settings: walked })
  // Compiled and connected before anything counts.
  await measureVisits(fresh, { first: 2 * visits, count: visits, spread })
  const made = await measureLogged(databases, fresh, { first: 0, count: visits, spread })
  views.push(
    { name: 'hot', ...made, logBytes: 0, ...(await visitHot(run, fresh, databases)) },
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
  await measureVisits(aged, { first: 2 * visits, count: visits, spread, settle })
  await askCatalog(catalog, 'reset')
  const stale = await measureLogged(databases, aged, { first: visits, count: visits, spread, settle })
  views.push({ name: 'old: sent, and refreshed behind by a call', ...stale })
  await run.processes.stop(aged.child)
  await run.processes.stop(catalog.child)

  const other = await startCatalog(run, { count: 2 * visits * spread })
  const empty = { ...toSettings(other, ''), VITRINE_DATABASE_URL: databases.createUrl() }
  const cold = await startVitrine(run, { settings: { ...empty, ...WITHOUT_A_WALK, ...PATIENT } })
  await measureVisits(cold, { first: visits, count: visits, spread })
  views.push({
    name: 'unknown: waited for a call',
    ...(await measureLogged(databases, cold, { first: 0, count: visits, spread })),
  })
  await run.processes.stop(cold.child)
  await run.processes.stop(other.child)
  return views
}

/** Visits, with what the database did for each, where that is counted. */
async function measureLogged(databases, server, boxes) {
  const { found, logBytes, databaseCpuSeconds } = await measureBeside(databases, () =>
    measureVisits(server, boxes),
  )
  const databaseCpuUs = (databaseCpuSeconds / boxes.count) * 1e6
  return { ...found, logBytes: logBytes / boxes.count, databaseCpuUs }
}

/**
 * What the database wrote to its log and took of processors while something was done, from one checkpoint to the next;
 * `NaN` where that is not counted.
 */
async function measureBeside({ checkpoint, measureLogBytes, readCpuSeconds: readDatabase }, work) {
  await checkpoint()
  const [logBefore, cpuBefore] = [await measureLogBytes?.(), readDatabase?.()]
  const found = await work()
  await checkpoint()
  const [logAfter, cpuAfter] = [await measureLogBytes?.(), readDatabase?.()]
  return { found, logBytes: logAfter - logBefore, databaseCpuSeconds: cpuAfter - cpuBefore }
}

async function visitHot(run, server, databases) {
  const url = toBoxUrl(server, 0)
  const rounds = []
  for (let round = 0; round <= run.options.rounds; round += 1) {
    const before = readCpuSeconds(server.pid)
    const databaseBefore = databases.readCpuSeconds?.()
    const { requests } = await measureMost(run, { url })
    rounds.push({
      cpuUs: ((readCpuSeconds(server.pid) - before) / requests) * 1e6,
      databaseCpuUs: ((databases.readCpuSeconds?.() - databaseBefore) / requests) * 1e6,
    })
  }
  // The first one warmed it up.
  const counted = rounds.slice(1)
  return {
    cpuUs: computeFieldMedian(counted, 'cpuUs'),
    databaseCpuUs: computeFieldMedian(counted, 'databaseCpuUs'),
  }
}

/** Walks of a tenth and of all of `--products`: the first, one without a change, and one with a product in a hundred changed. */
async function measureProducts(run, databases) {
  const found = []
  const { products } = run.options
  for (const count of new Set([Math.max(200, Math.round(products / 10)), products])) {
    run.say(`  walks of ${count.toLocaleString('en')} products`)
    const catalog = await startCatalog(run, { count })
    const url = databases.createUrl()
    const settings = { ...toSettings(catalog, ''), VITRINE_DATABASE_URL: url }
    const emptyBytes = databases.measureLogBytes === null ? 0 : await databases.measureBytes(url)
    const measure = async () => {
      const { found: walk, ...beside } = await measureBeside(databases, () =>
        measureWalk(run, catalog, settings),
      )
      return { ...walk, ...beside, databaseBytes: (await databases.measureBytes(url)) - emptyBytes }
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
  return { channelCount, ofEach: PRODUCTS_OF_A_CHANNEL, many, one }
}
