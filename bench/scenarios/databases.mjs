import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CHANNEL, toGtin } from '../lib/catalog-data.mjs'
import { startPostgres } from '../lib/postgres.mjs'
import { judgeAtLeast, judgeOfMany } from '../lib/report.mjs'
import { computeRatio, runRounds, toRateTable } from '../lib/rounds.mjs'
import { computeFieldMedian, createRandom } from '../lib/statistics.mjs'
import { nameDatabase, startCatalog, toSettings } from '../lib/vitrine.mjs'
import { measureWalk } from '../lib/walks.mjs'

const READS = fileURLToPath(new URL('../peers/store-reads.mjs', import.meta.url))
const [SQLITE, POSTGRES] = ['SQLite', 'PostgreSQL']
const [FIRST, SECOND] = ['first walk', 'second walk, nothing changed']

/** Boxes that are read, all over the catalog. */
const BOXES = 5_000
/** Readers at once: as many as one process has visitors waiting on a busy moment. */
const AT_ONCE = 16

/** The stored copy on both kinds of database, side by side. */
export const databases = {
  name: 'databases',
  about:
    'the stored copy on SQLite and on PostgreSQL: a walk of --products products into each, and reads from each',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const count = run.options.products
    const catalog = await startCatalog(run, { count })
    const postgres = await startPostgres(run)
    try {
      const file = nameDatabase(run)
      const addresses = { [SQLITE]: `sqlite:${file}`, [POSTGRES]: postgres.url }
      const walks = await measureWalks(run, catalog, addresses)
      const boxes = await measureReads(run, catalog, { addresses, what: 'box' })
      const grids = await measureReads(run, catalog, { addresses, what: 'grid' })
      const bytes = { [SQLITE]: sizeOfFile(file), [POSTGRES]: await sizeOfServer(postgres) }
      return {
        tables: [
          toWalkTable(walks, { count, bytes }),
          toRateTable(`Boxes, ${AT_ONCE} readers at once in one process`, boxes, SQLITE),
          toRateTable(`Grids of 12, ${AT_ONCE} readers at once in one process`, grids, SQLITE),
        ],
        promises: [
          judgeAtLeast('boxes read from PostgreSQL a second, of those from SQLite', {
            value: computeRatio(boxes, { own: POSTGRES, peer: SQLITE }),
            limit: 0.15,
          }),
          judgeAtLeast('first walk into PostgreSQL, of the speed into SQLite', {
            value: computeRatio(walks[FIRST], { own: POSTGRES, peer: SQLITE }),
            limit: 0.2,
          }),
        ].map((judged) => judgeOfMany(count, judged)),
        notes: [
          'PostgreSQL runs on this machine too, by its own settings, and shares its cores with who asks it: on a machine of its own it leaves these cores to the server, and each question takes the way there and back longer.',
          'A box is read once in five minutes for all replicas; all others come from memory.',
          'The CPU time is that of the process that reads, without the database server\u2019s own.',
        ],
        rounds: { walks, boxes, grids },
      }
    } finally {
      await postgres.stop()
    }
  },
}

/** A walk into each while it is empty, and another one; each once, as a further one would not be into an empty copy. */
async function measureWalks(run, catalog, addresses) {
  const walks = { [FIRST]: {}, [SECOND]: {} }
  for (const [name, address] of Object.entries(addresses)) {
    const settings = { ...toSettings(catalog, ''), VITRINE_DATABASE_URL: address }
    for (const which of [FIRST, SECOND]) walks[which][name] = [await measureWalk(run, catalog, settings)]
    run.say(`  walked into ${name}`)
  }
  return walks
}

function measureReads(run, catalog, { addresses, what }) {
  const random = createRandom(7)
  const gtins = Array.from({ length: BOXES }, () => toGtin(Math.floor(random() * run.options.products)))
  const subjects = {}
  for (const [name, database] of Object.entries(addresses)) {
    const order = { database, catalog: catalog.origin, channelId: CHANNEL.id, gtins, atOnce: AT_ONCE, what }
    subjects[name] = async (seconds) =>
      JSON.parse(
        await run.processes.run({
          command: run.options.nodePath,
          parameters: [READS, JSON.stringify({ ...order, seconds })],
          cpus: run.cpus.server,
        }),
      )
  }
  return runRounds(run, subjects, { warmUp: false })
}

function sizeOfFile(path) {
  return ['', '-wal'].reduce(
    (sum, end) => sum + (statSync(path + end, { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
}

async function sizeOfServer(postgres) {
  const [row] = await postgres.query(
    `select sum(pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass)) as bytes
    from pg_tables where schemaname = 'vitrine_copy'`,
  )
  return Number(row.bytes)
}

function toWalkTable(walks, { count, bytes }) {
  const rows = Object.entries(walks).flatMap(([which, results]) =>
    Object.entries(results).map(([name, rounds]) => [
      `${which}, ${name}`,
      Math.round(computeFieldMedian(rounds, 'perSecond')),
      computeFieldMedian(rounds, 'seconds').toFixed(1),
      Math.round(computeFieldMedian(rounds, 'cpuUs')),
      Math.round(bytes[name] / count),
    ]),
  )
  return {
    title: `Walks of ${count.toLocaleString('en')} products`,
    columns: ['', 'products/s', 'seconds', 'CPU µs a product', 'bytes a product'],
    rows,
  }
}
