import { sql } from 'kysely'
import { expect, test, vi } from 'vitest'
import { toPictureHash } from '../../src/offers/pictures.ts'
import { type CopyDatabase, openCopyDatabase } from '../../src/storage/copy-database.ts'
import { fillNextPictures } from '../../src/storage/picture-filling.ts'
import { type SqlStore, openSqlStore } from '../../src/storage/sql-store.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { makeProduct, toGtin } from '../helpers/products.ts'
import { walkAll } from './conformance/subject.ts'
import { undoPriceHistory } from './undo-migrations.ts'

const PRODUCTS = 450

const toAddress = (index: number): string => `https://shop.example/${index}.jpg`

type Fixture = Readonly<{ openStore(): Promise<SqlStore>; openDatabase(): Promise<CopyDatabase> }>

/** Make a copy whose products have pictures, apart from one. */
async function makeCopy(): Promise<Fixture> {
  const { path, remove } = await makeCopyFile()
  addCleanup(remove)
  const database = { kind: 'sqlite', path } as const
  const openStore = async (): Promise<SqlStore> => {
    const store = await openSqlStore({ database, catalog: 'https://one.example' })
    addCleanup(() => store.close())
    return store
  }
  const store = await openStore()
  const products = Array.from({ length: PRODUCTS }, (_, index) =>
    makeProduct({ gtin: toGtin(index), images: [toAddress(index)] }),
  )
  await walkAll(store, [...products, makeProduct({ gtin: toGtin(PRODUCTS), images: [] })], 100)
  await store.close()
  return {
    openStore,
    async openDatabase() {
      const opened = await openCopyDatabase(database)
      addCleanup(() => opened.close())
      return opened
    },
  }
}

const forgetNames = ({ writer }: CopyDatabase) => sql`update products set picture_hash = null`.execute(writer)

async function countNames({ writer }: CopyDatabase): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(picture_hash) as count from products`.execute(
    writer,
  )
  return rows[0]?.count ?? -1
}

test('copy of an earlier version - its migration reads no product, the pictures are named afterwards', async () => {
  const copy = await makeCopy()
  const { writer, close } = await copy.openDatabase()
  await sql`drop index products_by_picture`.execute(writer)
  await sql`alter table products drop column picture_hash`.execute(writer)
  await undoPriceHistory(writer)
  await sql`delete from kysely_migration where name >= '0011'`.execute(writer)
  await close()
  const migrated = await copy.openDatabase()
  expect(await countNames(migrated)).toBe(0)
  const store = await copy.openStore()
  await vi.waitFor(async () => expect(await countNames(migrated)).toBe(PRODUCTS))
  expect(await store.findPicture(toPictureHash(toAddress(449)))).toBe(toAddress(449))
})

test('products that an earlier version writes later - are named in short batches, too', async () => {
  const database = await (await makeCopy()).openDatabase()
  const names: number[] = []
  await forgetNames(database)
  for (const _turn of [1, 2, 3]) {
    expect(await fillNextPictures(database.writer)).toBe('more')
    names.push(await countNames(database))
  }
  expect(names).toEqual([200, 400, PRODUCTS])
  expect(await fillNextPictures(database.writer)).toBe('done')
  await forgetNames(database)
  expect(await fillNextPictures(database.writer)).toBe('more')
})

test('images that cannot be read - are tried once', async () => {
  const database = await (await makeCopy()).openDatabase()
  await sql`update products set images = 'x', picture_hash = null where id = 1`.execute(database.writer)
  expect(await fillNextPictures(database.writer)).toBe('more')
  expect(await fillNextPictures(database.writer)).toBe('done')
})

test.each([
  "picture_hash is null and images <> '[]' limit 200",
  "picture_hash = 'x' and images <> '[]' limit 1",
])('where %s - can use the index', async (condition) => {
  const { writer } = await (await makeCopy()).openDatabase()
  const { rows } = await sql`select id from products indexed by products_by_picture
    where ${sql.raw(condition)}`.execute(writer)
  expect(rows).toEqual([])
})
