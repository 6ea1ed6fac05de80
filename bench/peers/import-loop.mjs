/**
 * A minimal import: parse each line of a feed and write it as a row, in one transaction.
 * `node bench/peers/import-loop.mjs FEED DATABASE`.
 */
import { createReadStream } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const [feed, file] = process.argv.slice(2)
process.removeAllListeners('warning')
const { DatabaseSync } =
  process.getBuiltinModule('node:sqlite') ?? createRequire(import.meta.url)('@photostructure/sqlite')
const database = new DatabaseSync(file)
database.exec(
  'pragma journal_mode = wal; create table products (gtin text primary key, title text, json text)',
)
const insert = database.prepare('insert into products values (?, ?, ?)')
let products = 0
const startedMs = performance.now()
database.exec('begin')
for await (const line of createInterface({ input: createReadStream(feed) })) {
  const { gtin, title } = JSON.parse(line)
  insert.run(gtin, title, line)
  products += 1
}
database.exec('commit')
const seconds = (performance.now() - startedMs) / 1e3
process.stdout.write(JSON.stringify({ products, seconds }))
