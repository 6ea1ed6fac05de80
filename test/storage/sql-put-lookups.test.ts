import { Kysely, SqliteDialect, sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { migrateDatabase } from '../../src/database/migrate.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { COPY_MIGRATIONS } from '../../src/storage/migrations/sqlite.ts'
import type { CopyTables } from '../../src/storage/schema.ts'
import { createLookupWriter } from '../../src/storage/sql-put-lookups.ts'
import type { Lookup } from '../../src/storage/store.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL } from './conformance/subject.ts'

let database: Kysely<CopyTables>
let put: (lookups: readonly Lookup[]) => Promise<void>
/** Products in each transaction so far. */
let transactions: number[]

beforeEach(async () => {
  transactions = []
  const sqlite = openSqlite({ path: ':memory:', role: 'writer' })
  const watched = {
    ...sqlite,
    prepare(text: string) {
      if (text === 'begin') transactions.push(0)
      else if (text.startsWith('insert into "products"')) transactions.push((transactions.pop() ?? 0) + 1)
      return sqlite.prepare(text)
    },
  }
  database = new Kysely<CopyTables>({ dialect: new SqliteDialect({ database: watched }) })
  onTestFinished(() => database.destroy())
  await migrateDatabase(database, COPY_MIGRATIONS)
  put = createLookupWriter(database, 'c', systemClock)
  transactions = []
})

const makeLookup = (index: number, offers = 1): Lookup => {
  const gtin = toGtin(index)
  const list = Array.from({ length: offers }, (_, number) => makeParsedOffer({ merchant: `Shop ${number}` }))
  return { channelId: CHANNEL, gtin, entry: { product: makeProduct({ gtin, offers: list }), asOfMs: 1 } }
}

const putAll = (lookups: readonly Lookup[]): Promise<PromiseSettledResult<void>[]> =>
  Promise.allSettled(lookups.map((lookup) => put([lookup])))

async function listStored(): Promise<readonly string[]> {
  const rows = await database.selectFrom('products').select('gtin').orderBy('gtin').execute()
  return rows.map(({ gtin }) => gtin)
}

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

test('eighty look-ups at once - are written in few transactions', async () => {
  const results = await putAll(range(80).map((index) => makeLookup(index)))
  expect(results.every(({ status }) => status === 'fulfilled')).toBe(true)
  expect(await listStored()).toEqual(range(80).map(toGtin))
  expect(transactions).toEqual([32, 32, 16])
})

test('look-ups with many offers - more transactions, with one product at least in each', async () => {
  await putAll([600, 180, 180, 180, 1].map((offers, index) => makeLookup(index, offers)))
  expect(transactions).toEqual([1, 2, 2])
})

test('one look-up that the database refuses - it alone fails, and the others are written', async () => {
  await sql`create trigger refuse before insert on products when new.gtin = ${sql.lit(toGtin(2))}
    begin select raise(abort, 'refused'); end`.execute(database)
  const results = await putAll(range(5).map((index) => makeLookup(index)))
  expect(results.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
  ])
  expect(await listStored()).toEqual([0, 1, 3, 4].map(toGtin))
})
