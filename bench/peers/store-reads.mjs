/**
 * Reads of the stored copy, as the server makes them: `node bench/peers/store-reads.mjs ORDER`, an order in JSON with
 * `database` (the address as a setting has it), `catalog`, `channelId`, `gtins`, `seconds`, `atOnce` and `what` (box or grid).
 */
import { setTimeout as wait } from 'node:timers/promises'
import { databaseAddress } from '../../dist/config/database-address.js'
import { openSqlStore } from '../../dist/storage/sql-store.js'

const order = JSON.parse(process.argv[2])
const { catalog, channelId, gtins, seconds, atOnce } = order
const store = await openSqlStore({
  database: databaseAddress.read(order.database),
  catalog,
  timeouts: { openingMs: 5_000, openMs: 0 },
})
const grid = {
  channelId,
  currency: 'EUR',
  isInStockOnly: true,
  merchants: [],
  excluded: [],
  minDiscountPercent: 1,
  maxPrice: null,
  brand: null,
  words: null,
  sort: 'discount',
  limit: 13,
}
const READS = {
  box: (turn) => store.findProduct(channelId, gtins[turn % gtins.length]),
  grid: (turn) => store.findDeals({ ...grid, offset: (turn % 40) * 12 }),
}
const read = READS[order.what]
const latenciesMs = []
let turn = 0
const readUntil = async (endMs) => {
  while (performance.now() < endMs) {
    const startedMs = performance.now()
    turn += 1
    const found = await read(turn)
    if (found === undefined || found.length === 0) throw new Error('nothing was found')
    latenciesMs.push(performance.now() - startedMs)
  }
}
const readAll = async (endMs) => Promise.all(Array.from({ length: atOnce }, () => readUntil(endMs)))
await readAll(performance.now() + (seconds * 1_000) / 4)
latenciesMs.length = 0
await wait(50)
const cpuBefore = process.cpuUsage()
const startedMs = performance.now()
await readAll(startedMs + seconds * 1_000)
const tookSeconds = (performance.now() - startedMs) / 1e3
const cpu = process.cpuUsage(cpuBefore)
latenciesMs.sort((a, b) => a - b)
const at = (part) => latenciesMs[Math.floor(latenciesMs.length * part)] ?? 0
const reads = latenciesMs.length
await store.close()
process.stdout.write(
  JSON.stringify({
    reads,
    perSecond: reads / tookSeconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    cpuUs: (cpu.user + cpu.system) / reads,
  }),
)
