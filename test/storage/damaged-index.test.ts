import { EventEmitter, once } from 'node:events'
import { sql } from 'kysely'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Product } from '../../src/catalog/contract.ts'
import { openCopyDatabase } from '../../src/storage/copy-database.ts'
import { type StoredCopy, openStoredCopy } from '../../src/storage/stored-copy.ts'
import { maintainSearchIndex } from '../../src/storage/search-index.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { CORRUPT_INDEX_SQL, runUnsafeStatement } from './corrupt-database.ts'
import { CHANNEL, begin, makePage, walkAll } from './conformance/subject.ts'
import { retry } from '../../src/database/retries.ts'

const COUNT = 250
const CORRUPT_INDEX_ERROR = {
  code: 'VITRINE_STORE_FAILED',
  cause: { message: expect.stringMatching(/^fts5: corrupt/) },
}

/** Damage that SQLite detects: to the list of segments, to the words, and to both. */
const DAMAGE_CASES = [
  ['list of segments overwritten', CORRUPT_INDEX_SQL],
  ['list of segments deleted', 'delete from product_words_data where id = 10'],
  ['words overwritten', `update product_words_data set block = x'ffffffffffffffffff' where id > 10`],
  ['words deleted', 'delete from product_words_data where id > 10'],
  ['all data deleted', 'delete from product_words_data'],
] as const

let path: string
let store: StoredCopy

beforeEach(async () => {
  const file = await makeCopyFile()
  path = file.path
  onTestFinished(file.remove)
  store = await openStore()
  await walkAll(store, makeLamps(COUNT), 100)
})

async function openStore(): Promise<StoredCopy> {
  const opened = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: 'c' })
  onTestFinished(() => opened.close())
  return opened
}

const damage = (statement: string): void => runUnsafeStatement(path, statement)

const makeNamed = (index: number, title: string): Product =>
  makeProduct({ gtin: toGtin(index), title, brand: null, offers: [makeParsedOffer({ oldPrice: '99.00' })] })

const makeLamps = (count: number): Product[] =>
  Array.from({ length: count }, (_, index) => makeNamed(index, `Lamp x${index}y`))

const search = async (text: string): Promise<string[]> =>
  (await store.searchProducts(CHANNEL, text, 300)).flatMap(({ product }) => product?.title ?? [])

const putNew = (index: number): Promise<void> =>
  store.putLookups([
    {
      channelId: CHANNEL,
      gtin: toGtin(index),
      entry: { product: makeNamed(index, `New x${index}y`), asOfMs: 200 },
    },
  ])

const putAbsence = (index: number): Promise<void> =>
  store.putLookups([{ channelId: CHANNEL, gtin: toGtin(index), entry: { product: null, asOfMs: 200 } }])

/** Wait until the index has exactly one entry for each product, and run SQLite's integrity check on it. */
async function expectFilled(): Promise<void> {
  const database = openSqlite({ path, role: 'writer' })
  onTestFinished(() => database.close())
  await vi.waitFor(
    () => {
      expect(database.prepare('select below_id from search_backlog').all([])).toEqual([])
      expect(database.prepare('select copy_id << 40 | id as id from products order by 1').all([])).toEqual(
        database.prepare('select id from product_words_docsize order by 1').all([]),
      )
    },
    { timeout: 20_000, interval: 20 },
  )
  database.prepare(`insert into product_words(product_words) values ('integrity-check')`).run([])
  expect(await store.findDamage()).toBeNull()
}

describe('damaged word index', () => {
  test.each(DAMAGE_CASES)(
    '%s - search - finds products at once, and all of them once the index is filled again',
    async (_name, statement) => {
      damage(statement)
      expect(await search('x7y')).toEqual(['Lamp x7y'])
      await expectFilled()
      expect(await search('x1')).toHaveLength(111)
      expect(await search('x24')).toHaveLength(11)
    },
  )

  test.each(DAMAGE_CASES)(
    '%s - look-up of a new product, and a 404, are stored',
    async (_name, statement) => {
      damage(statement)
      // Reads detect damaged words; writes detect a damaged list of segments.
      await putNew(900)
      await putAbsence(3)
      expect((await store.findProduct(CHANNEL, toGtin(900)))?.product?.title).toBe('New x900y')
      expect((await store.findProduct(CHANNEL, toGtin(3)))?.product).toBeNull()
      expect(await search('x900')).toEqual(['New x900y'])
      expect(await search('x3y')).toEqual([])
      await expectFilled()
      expect(await search('x4y')).toEqual(['Lamp x4y'])
    },
  )

  test('list of segments overwritten - a 404 is the first to detect it - is stored', async () => {
    damage(CORRUPT_INDEX_SQL)
    await putAbsence(3)
    expect((await store.findProduct(CHANNEL, toGtin(3)))?.product).toBeNull()
    await expectFilled()
  })

  test('list of segments that lacks existing ones - look-up - is stored', async () => {
    // FTS5 then reuses the number of an existing segment and reports only a failed constraint.
    damage(`update product_words_data set block = x'00000000ff000001000000' where id = 10`)
    await putNew(900)
    await expectFilled()
    expect(await search('x4y')).toEqual(['Lamp x4y'])
  })

  test('walk on a separate connection - stores its pages, completes, and removes old products', async () => {
    const walker = await openStore()
    damage(CORRUPT_INDEX_SQL)
    const walk = await begin(walker, 200)
    const products = [...makeLamps(20), makeNamed(700, 'Torch'), makeNamed(701, 'Kettle')]
    await walker.applyPage(CHANNEL, makePage(walk, products, { asOfMs: 200 }))
    await walker.completeWalk(CHANNEL, walk, { nowMs: 200, isMalformed: false })
    await walker.close()
    // The walk may have ended before the index was filled. The serving store then continues filling it.
    await expectFilled()
    expect(await search('torch')).toEqual(['Torch'])
    expect(await search('lamp')).toHaveLength(20)
  })

  test('removal of old products is the first to detect it - walk completes', async () => {
    const walk = await begin(store, 200)
    await store.applyPage(CHANNEL, makePage(walk, makeLamps(20), { asOfMs: 200 }))
    damage(CORRUPT_INDEX_SQL)
    await store.completeWalk(CHANNEL, walk, { nowMs: 200, isMalformed: false })
    expect(await store.getCopyState(CHANNEL)).toMatchObject({ currentWalk: 2, productCount: 20 })
    await expectFilled()
    expect(await search('lamp')).toHaveLength(20)
  })

  test('many writes and searches at the same time - all succeed, and the index is rebuilt once', async () => {
    damage(CORRUPT_INDEX_SQL)
    const puts = Array.from({ length: 20 }, (_, index) => putNew(900 + index))
    const searches = ['x1y', 'x2y', 'x3y'].map((text) => search(text))
    await Promise.all(puts)
    expect(await Promise.all(searches)).toEqual([['Lamp x1y'], ['Lamp x2y'], ['Lamp x3y']])
    await expectFilled()
    expect(await search('new')).toHaveLength(20)
  })

  test('damaged again at once - is reported and not rebuilt in a loop; the next store rebuilds it', async () => {
    damage(CORRUPT_INDEX_SQL)
    await putNew(900)
    await expectFilled()
    damage(CORRUPT_INDEX_SQL)
    await expect(putNew(901)).rejects.toMatchObject(CORRUPT_INDEX_ERROR)
    await expect(search('lamp')).rejects.toMatchObject(CORRUPT_INDEX_ERROR)
    expect(await store.findDamage()).toContain('product_words')
    expect((await store.findProduct(CHANNEL, toGtin(900)))?.product?.title).toBe('New x900y')
    await store.close()
    store = await openStore()
    await putNew(901)
    await expectFilled()
  })

  test('another process writes - the search fails as locked, and succeeds when it is retried', async () => {
    const serving = await openStoredCopy({
      database: { kind: 'sqlite', path },
      catalog: 'c',
      service: { visitorTimeoutMs: 1_000, onFailure: () => {} },
    })
    onTestFinished(() => serving.close())
    damage(CORRUPT_INDEX_SQL)
    const other = openSqlite({ path, role: 'writer' })
    onTestFinished(() => other.close())
    other.prepare('begin immediate').run([])
    await expect(serving.searchProducts(CHANNEL, 'lamp', 8)).rejects.toMatchObject({
      cause: { message: expect.stringContaining('locked') },
    })
    other.prepare('rollback').run([])
    expect(await serving.searchProducts(CHANNEL, 'lamp', 8)).toHaveLength(8)
  })
})

/** Run actions on a damaged index at the same time, each failing once. Return how often the schema changed. */
async function repairTogether(actions: readonly (() => Promise<void>)[]): Promise<number> {
  const { writer, close } = await openCopyDatabase({ kind: 'sqlite', path })
  const index = maintainSearchIndex(writer)
  const readVersion = async (): Promise<number> =>
    (await sql<{ schema_version: number }>`pragma schema_version`.execute(writer)).rows[0]?.schema_version ??
    0
  const before = await readVersion()
  try {
    await Promise.all(actions.map((action) => retry(action, { repair: index.repair })))
    return (await readVersion()) - before
  } finally {
    await index.stop()
    await close()
  }
}

const failOnce = (before: () => Promise<void> = () => Promise.resolve()): (() => Promise<void>) => {
  let isFirst = true
  return async () => {
    if (!isFirst) return
    isFirst = false
    await before()
    throw new Error('fts5: corrupt structure record for table "product_words"')
  }
}

describe('several failures from one damaged index', () => {
  test('two at the same time - the index is rebuilt once', async () => {
    const singleRepairChanges = await repairTogether([failOnce()])
    expect(singleRepairChanges).toBeGreaterThan(0)
    expect(await repairTogether([failOnce(), failOnce()])).toBe(singleRepairChanges)
  })

  test('action that started before the rebuild and fails after it - is retried without a second rebuild', async () => {
    const singleRepairChanges = await repairTogether([failOnce()])
    const rebuilt = new EventEmitter()
    const first = failOnce()
    let calls = 0
    const earlyAction = async (): Promise<void> => {
      await first()
      calls++
      rebuilt.emit('done')
    }
    expect(
      await repairTogether([earlyAction, failOnce(async () => void (await once(rebuilt, 'done')))]),
    ).toBe(singleRepairChanges)
    expect(calls).toBe(1)
  })
})

describe('damage outside the word index', () => {
  test('product table without a column - is reported, and the word index stays', async () => {
    damage('alter table products rename column search_text to lost_text')
    await expect(search('lamp')).rejects.toMatchObject({ code: 'VITRINE_STORE_FAILED' })
    await expect(putNew(900)).rejects.toMatchObject({ code: 'VITRINE_STORE_FAILED' })
    const database = openSqlite({ path, role: 'reader' })
    onTestFinished(() => database.close())
    expect(database.prepare('select * from search_backlog').all([])).toEqual([])
    expect(database.prepare('select count(*) as count from product_words_docsize').all([])).toEqual([
      { count: COUNT },
    ])
  })

  test('word that SQLite splits in two - is not damage: the search does not use the index', async () => {
    await store.putLookups([
      { channelId: CHANNEL, gtin: toGtin(900), entry: { product: makeNamed(900, 'a\u19B0b'), asOfMs: 200 } },
    ])
    expect(await search('a\u19B0b')).toEqual(['a\u19B0b'])
    const database = openSqlite({ path, role: 'reader' })
    onTestFinished(() => database.close())
    expect(database.prepare('select * from search_backlog').all([])).toEqual([])
  })
})
