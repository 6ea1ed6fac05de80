import { Kysely, SqliteDialect, sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { DAY_MS, systemClock } from '../../src/clock.ts'
import { migrateDatabase } from '../../src/database/migrate.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { COPY_MIGRATIONS } from '../../src/storage/tables.ts'
import type { CopyTables } from '../../src/storage/schema.ts'
import { createLookupWriter } from '../../src/storage/lookup-writer.ts'
import { NO_HISTORY } from '../../src/storage/price-history.ts'
import type { Lookup } from '../../src/storage/store.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL } from './conformance/subject.ts'
import { connect } from '../helpers/connect.ts'

let database: Kysely<CopyTables>
let put: (lookups: readonly Lookup[]) => Promise<void>
/** The number of products in each transaction so far. */
let transactions: number[]
/** How often old absences were removed. */
let cleanings: number

beforeEach(async () => {
  transactions = []
  cleanings = 0
  const sqlite = openSqlite({ path: ':memory:', role: 'writer' })
  const watched = {
    ...sqlite,
    prepare(text: string) {
      if (text === 'begin') transactions.push(0)
      else if (text.startsWith('insert into "products"')) transactions.push((transactions.pop() ?? 0) + 1)
      else if (text.startsWith('delete from absences') && text.includes('as_of_ms')) cleanings += 1
      return sqlite.prepare(text)
    },
  }
  database = new Kysely<CopyTables>({ dialect: new SqliteDialect({ database: watched }) })
  onTestFinished(() => database.destroy())
  await migrateDatabase(database, COPY_MIGRATIONS)
  put = createLookupWriter(await connect(database), 'c', { clock: systemClock, history: NO_HISTORY })
  transactions = []
})

const makeLookup = (index: number, offers = 1): Lookup => {
  const gtin = toGtin(index)
  const list = Array.from({ length: offers }, (_, number) => makeParsedOffer({ merchant: `Shop ${number}` }))
  return { channelId: CHANNEL, gtin, entry: { product: makeProduct({ gtin, offers: list }), asOfMs: 1 } }
}

const makeAbsence = (index: number, asOfMs: number): Lookup => ({
  channelId: CHANNEL,
  gtin: toGtin(index),
  entry: { product: null, asOfMs },
})

const putAll = (lookups: readonly Lookup[]): Promise<PromiseSettledResult<void>[]> =>
  Promise.allSettled(lookups.map((lookup) => put([lookup])))

async function listStored(): Promise<readonly string[]> {
  const rows = await database.selectFrom('products').select('gtin').orderBy('gtin').execute()
  return rows.map(({ gtin }) => gtin)
}

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

test('forty concurrent look-ups - are written in few transactions', async () => {
  const results = await putAll(range(40).map((index) => makeLookup(index)))
  expect(results.every(({ status }) => status === 'fulfilled')).toBe(true)
  expect(await listStored()).toEqual(range(40).map(toGtin))
  expect(transactions).toEqual([16, 16, 8])
})

test('look-ups with many offers - are written in more transactions, each with at least one product', async () => {
  await putAll([300, 90, 90, 90, 1].map((offers, index) => makeLookup(index, offers)))
  expect(transactions).toEqual([1, 2, 2])
})

test('one look-up rejected by the database - only this one fails, and the others are written', async () => {
  await sql`create trigger reject_product before insert on products when new.gtin = ${sql.lit(toGtin(2))}
    begin select raise(abort, 'rejected'); end`.execute(database)
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

test('look-ups in any order - are written in GTIN order, so that machines cannot deadlock', async () => {
  await put([5, 1, 4, 2, 3].map((index) => makeLookup(index)))
  const rows = await database.selectFrom('products').select('gtin').orderBy('id').execute()
  expect(rows.map(({ gtin }) => gtin)).toEqual([1, 2, 3, 4, 5].map(toGtin))
})

test('many absences in one transaction - old ones are removed once', async () => {
  await put([makeAbsence(1, 1)])
  expect(cleanings).toBe(1)
  await put([makeAbsence(2, DAY_MS + 2), makeAbsence(3, DAY_MS + 3), makeAbsence(4, DAY_MS + 2)])
  expect(cleanings).toBe(2)
  const rows = await database.selectFrom('absences').select('gtin').orderBy('gtin').execute()
  expect(rows.map(({ gtin }) => gtin)).toEqual([2, 3, 4].map(toGtin))
})

test('absence dated in the future - does not make the others old', async () => {
  const nowMs = Date.now()
  await put([makeAbsence(1, nowMs)])
  await put([makeAbsence(2, nowMs + 30 * DAY_MS)])
  const rows = await database.selectFrom('absences').select('gtin').orderBy('gtin').execute()
  expect(rows.map(({ gtin }) => gtin)).toEqual([1, 2].map(toGtin))
})
