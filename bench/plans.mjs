/** `node bench/plans.mjs`: record how SQLite and PostgreSQL find the deals of every grid in a large copy, and how long it takes. */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { databaseAddressParser } from '../dist/config/database-address.js'
import { openStoredCopy } from '../dist/storage/stored-copy.js'
import { CATALOG, CHANNELS, fillCopy, NOW_MS } from './lib/large-copy.mjs'
import { computeMedian } from './lib/statistics.mjs'

const USAGE = `node bench/plans.mjs [options], after "npm run build"

Options:
  --deals N       deals of the large channel (1000000)
  --database URL  empty database, or one that an earlier run filled (a new SQLite file)
  --results DIR   folder for the plans and the times (bench/results)
  --rounds N      runs of each query, fewer of slow ones (5)
`

const SORTS = ['discount', 'saving', 'price', 'newest', 'drop']
const EVIDENCES = ['shop', 'observed']

/** The filters of a grid: none, each alone for many and for few deals, and together. */
const FILTERS = {
  none: {},
  'min_discount=30': { minDiscountPercent: 30 },
  in_stock: { isInStockOnly: true },
  'brand, many': { brand: 'Brand 1' },
  'brand, few': { brand: 'Rare Brand' },
  'brand, none': { brand: 'No Brand' },
  'merchant, many': { merchants: ['Shop 1', 'Shop 2'] },
  'merchant, few': { merchants: ['Rare Shop'] },
  exclude: { excluded: ['Shop 1', 'Shop 2'] },
  'network, many': { networks: ['network 1'] },
  'network, few': { networks: ['rare network'] },
  'max_price, many': { maxPrice: '200.00' },
  'max_price, few': { maxPrice: '1.00' },
  'q, many': { searchText: 'lamp' },
  'q, few': { searchText: 'periscope' },
  'q, two words': { searchText: 'copper kett' },
  'q, inside words': { searchText: 'erisco' },
  'brand, merchant and q': { brand: 'Brand 1', merchants: ['Shop 3'], searchText: 'lamp' },
  'max_price and in_stock': { maxPrice: '50.00', isInStockOnly: true },
}

/** Pages of the first filters; the other filters have only the first page. */
const PAGES = [0, 480, 20_000]
const PAGED_FILTERS = new Set(['none', 'merchant, few'])
const PAGE_CARDS = 24

/** List every grid query, by name. */
function listQueries() {
  const queries = []
  const all = {
    channelId: CHANNELS.large,
    currency: 'EUR',
    isInStockOnly: false,
    merchants: [],
    excluded: [],
    networks: null,
    minDiscountPercent: 1,
    maxPrice: null,
    brand: null,
    searchText: null,
    limit: PAGE_CARDS,
  }
  for (const evidence of EVIDENCES)
    for (const [filter, over] of Object.entries(FILTERS)) {
      for (const sort of SORTS)
        for (const offset of PAGED_FILTERS.has(filter) ? PAGES : [0])
          queries.push({
            name: `${evidence} | ${filter} | ${sort}${offset === 0 ? '' : ` | after ${offset}`}`,
            run: async (store) => (await store.findDeals({ ...all, ...over, evidence, sort, offset })).length,
          })
      const counted = { ...all, ...over, evidence, sort: 'discount', offset: 0 }
      queries.push({
        name: `${evidence} | ${filter} | counts`,
        run: async (store) => (await store.countDeals(counted, new Map())).total,
      })
    }
  return queries
}

/** Receives each statement that the program prepares. `explain` returns its plan. */
let listener = null

/** Wrap a statement of SQLite, so that a read can be explained on the same connection. */
function prepareListened(database, text) {
  const statement = database.prepare(text)
  const all = (...values) => {
    listener?.(text, () => formatSqlitePlan(database.prepare(`explain query plan ${text}`).all(...values)))
    return statement.all(...values)
  }
  return {
    all,
    run: (...values) => statement.run(...values),
    iterate: (...values) => statement.iterate(...values),
  }
}

/** Listen to the statements of SQLite: give the program a module that explains each read on the same connection. */
function listenToSqlite() {
  const { getBuiltinModule } = process
  const native = getBuiltinModule('node:sqlite') ?? createRequire(import.meta.url)('@photostructure/sqlite')
  /** Called with "new". */
  function DatabaseSync(...parameters) {
    const database = new native.DatabaseSync(...parameters)
    for (const name of ['exec', 'function', 'close']) this[name] = database[name].bind(database)
    this.prepare = (text) => prepareListened(database, text)
  }
  process.getBuiltinModule = (name) => (name === 'node:sqlite' ? { DatabaseSync } : getBuiltinModule(name))
}

function formatSqlitePlan(rows) {
  const depths = new Map([[0, -1]])
  return rows.map(({ id, parent, detail }) => {
    depths.set(id, (depths.get(parent) ?? 0) + 1)
    return `${'  '.repeat(depths.get(id))}${detail}`
  })
}

/** Listen to the statements of PostgreSQL; another connection explains them. */
async function listenToPostgres(url) {
  const { default: pg } = await import('pg')
  const explainer = new pg.Client({ connectionString: url, options: '-c search_path=vitrine_copy' })
  await explainer.connect()
  const { query } = pg.Client.prototype
  const execute = async (text, values) => {
    const { rows } = await explainer.query(text, values)
    return rows
  }
  pg.Client.prototype.query = function queryListened(config, values, ...rest) {
    const text = typeof config === 'string' ? config : config?.text
    if (this !== explainer && typeof text === 'string')
      listener?.(text, async () => {
        const rows = await execute(`explain (costs off) ${text}`, config.values ?? values)
        return rows.map((row) => row['QUERY PLAN'])
      })
    return query.call(this, config, values, ...rest)
  }
  return { execute, end: () => explainer.end() }
}

/** The ids of the deals on a page. */
const LISTS = /'\{[\d,]+\}'/g

const READS = /^\s*(?:select|with)\b/i

/** Return the plans of the statements that a query runs, each once. */
async function explain(query, store) {
  const plans = []
  listener = (text, plan) => {
    if (READS.test(text)) plans.push(plan)
  }
  const count = await query.run(store)
  listener = null
  const texts = new Set()
  for (const plan of plans) texts.add((await plan()).join('\n').replaceAll(LISTS, "'{…}'"))
  return { count, text: [...texts].join('\n--\n') }
}

/** No further run of a query begins after this time. */
const MAX_MEASURED_MS = 4_000

/** Return the medians of the elapsed time and of the CPU time of this process, which a busy machine changes less. */
async function measure(query, store, rounds) {
  const elapsed = []
  const used = []
  const endMs = performance.now() + MAX_MEASURED_MS
  for (let round = 0; round < rounds && (round === 0 || performance.now() < endMs); round += 1) {
    const [startMs, before] = [performance.now(), process.cpuUsage()]
    await query.run(store)
    elapsed.push(performance.now() - startMs)
    const { user, system } = process.cpuUsage(before)
    used.push((user + system) / 1_000)
  }
  return { ms: computeMedian(elapsed), cpuMs: computeMedian(used) }
}

function toCell(ms) {
  return ms.toFixed(1).padStart(9)
}

/** Write the plans with the queries that have them, and the median time of each query. */
function writeResults(folder, engine, { explained, times, notes }) {
  mkdirSync(folder, { recursive: true })
  const groups = new Map()
  for (const entry of explained) groups.set(entry.text, [...(groups.get(entry.text) ?? []), entry])
  const plans = [...groups].map(
    ([text, queries]) => `${queries.map(({ name, count }) => `# ${name} (${count})`).join('\n')}\n${text}\n`,
  )
  writeFileSync(join(folder, `plans-${engine}.txt`), plans.join('\n'))
  const rows = times.map(({ name, ms, cpuMs }) => `${toCell(ms)} ${toCell(cpuMs)}  ${name}`)
  const head = `${'ms'.padStart(9)} ${'CPU ms'.padStart(9)}  query`
  writeFileSync(join(folder, `times-${engine}.txt`), `${[...notes, '', head, ...rows].join('\n')}\n`)
}

async function record({ results, rounds, deals, url }) {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-plans-'))
  const database = databaseAddressParser.parse(url ?? `sqlite:${join(folder, 'copy.db')}`)
  const path = database.kind === 'sqlite' ? database.path : null
  const server = path === null ? await listenToPostgres(url) : listenToSqlite()
  const store = await openStoredCopy({
    database,
    catalog: CATALOG,
    clock: { nowMs: () => NOW_MS, wait: () => Promise.resolve(), startTimer: () => () => {} },
    history: { keptDays: 90, priceMaxAgeSeconds: 86_400 },
  })
  try {
    const startMs = performance.now()
    const filled = await fillCopy(store, { deals, path, server })
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(0)
    const size = path === null ? await filled.readSize() : statSync(path).size
    const notes = [`${filled.text}; ${(size / 1e6).toFixed(0)} MB`]
    process.stderr.write(`${notes[0]}, filled in ${seconds} s\n`)
    const [explained, times] = [[], []]
    for (const query of listQueries()) {
      explained.push({ name: query.name, ...(await explain(query, store)) })
      times.push({ name: query.name, ...(await measure(query, store, rounds)) })
    }
    writeResults(results, path === null ? 'postgres' : 'sqlite', { explained, times, notes })
  } finally {
    await store.close()
    await server?.end()
    rmSync(folder, { recursive: true, force: true })
  }
}

const text = { type: 'string' }
const { values } = parseArgs({
  options: { deals: text, database: text, results: text, rounds: text, help: { type: 'boolean' } },
})
if (values.help) process.stdout.write(USAGE)
else
  await record({
    results: values.results ?? fileURLToPath(new URL('results', import.meta.url)),
    rounds: Number(values.rounds ?? 5),
    deals: Number(values.deals ?? 1_000_000),
    url: values.database,
  })
