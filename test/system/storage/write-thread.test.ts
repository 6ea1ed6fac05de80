import { statSync } from 'node:fs'
import * as fc from 'fast-check'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { HOUR_MS } from '../../../src/clock.ts'
import { openSqlite } from '../../../src/database/sqlite.ts'
import { type StoredCopy, openStoredCopy } from '../../../src/storage/stored-copy.ts'
import type { Lookup } from '../../../src/storage/store.ts'
import { STORE_THREADS, type StoreThreads } from '../../../src/storage/threads.ts'
import { makeCopyFile } from '../../helpers/copy-file.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import { toRunCount } from '../../helpers/property-runs.ts'
import { CHANNEL, readBox } from '../../storage/conformance/subject.ts'

let path: string
let copy: StoredCopy

/** Open the copy with threads, or without any. */
async function open(threads: Partial<StoreThreads> = STORE_THREADS): Promise<StoredCopy> {
  const opened = await openStoredCopy({
    database: { kind: 'sqlite', path },
    catalog: 'c',
    history: { keptDays: 400, priceMaxAgeSeconds: 86_400 },
    threads,
    service: { visitorTimeoutMs: 1_000, onFailure: () => {} },
  })
  onTestFinished(() => opened.close())
  return opened
}

beforeEach(async () => {
  const file = await makeCopyFile()
  path = file.path
  onTestFinished(file.remove)
  copy = await open()
})

const toProduct = (index: number, price: string) =>
  makeProduct({ gtin: toGtin(index), title: `price ${price}`, offers: [makeParsedOffer({ price })] })

const toLookup = (index: number, asOfMs: number, price: string | null): Lookup => ({
  channelId: CHANNEL,
  gtin: toGtin(index),
  entry: { product: price === null ? null : toProduct(index, price), asOfMs },
})

const putAll = (lookups: readonly Lookup[]): Promise<readonly PromiseSettledResult<void>[]> =>
  Promise.allSettled(lookups.map((lookup) => copy.putLookups([lookup])))

/** A call of this process or of another one. `order` decides when it is sent, not how old its data is. */
type GeneratedCall = Readonly<{
  lookups: readonly Readonly<{ index: number; isAbsent: boolean }>[]
  isOther: boolean
  order: number
}>

const PRODUCTS = 4

const generatedCalls: fc.Arbitrary<readonly GeneratedCall[]> = fc.array(
  fc.record({
    lookups: fc.array(fc.record({ index: fc.nat({ max: PRODUCTS - 1 }), isAbsent: fc.boolean() }), {
      minLength: 1,
      maxLength: 3,
    }),
    isOther: fc.boolean(),
    order: fc.nat(),
  }),
  { minLength: 1, maxLength: 20 },
)

/** What a box and the last price of the history must be after these look-ups, oldest first. */
function predict(lookups: readonly Lookup[], index: number): readonly [box: string, price: number | null] {
  const entry = lookups.findLast(({ gtin }) => gtin === toGtin(index))?.entry
  if (entry === undefined) return ['unknown', null]
  if (entry.product === null) return [`absent @${entry.asOfMs}`, null]
  const { title, offers } = entry.product
  return [`${title} @${entry.asOfMs}`, Number(offers[0]?.price) * 10_000]
}

test('look-ups of this and another process, in any order - the newest of each product is stored, with its price in the history', async () => {
  const other = await open({})
  let firstIndex = 0
  let nowMs = Date.now() - HOUR_MS
  await fc.assert(
    fc.asyncProperty(generatedCalls, async (generated) => {
      // Other products in each run, and other times for each look-up, so that one of two is always newer.
      firstIndex += PRODUCTS
      const calls = generated.map(({ lookups, ...call }) => ({
        ...call,
        lookups: lookups.map(({ index, isAbsent }) => {
          nowMs += 1
          return toLookup(firstIndex + index, nowMs, isAbsent ? null : `${nowMs % 100_000}.50`)
        }),
      }))
      const sent = calls.toSorted((a, b) => a.order - b.order)
      await Promise.all(sent.map(({ lookups, isOther }) => (isOther ? other : copy).putLookups(lookups)))
      const all = calls.flatMap(({ lookups }) => lookups)
      for (let index = firstIndex; index < firstIndex + PRODUCTS; index += 1) {
        const series = await copy.findPriceSeries(CHANNEL, toGtin(index))
        const lastPrice = series.at(0)?.days.at(-1)?.last ?? null
        expect([await readBox(copy, toGtin(index)), lastPrice]).toEqual(predict(all, index))
      }
    }),
    { numRuns: toRunCount(40) },
  )
})

test('look-up that is stored - is read at once', async () => {
  for (let index = 1; index <= 40; index += 1) {
    await copy.putLookups([toLookup(index, 100, '9.90')])
    expect(await readBox(copy, toGtin(index))).toBe('price 9.90 @100')
  }
})

test('many look-ups - the thread checkpoints the log, before the connection that serves would', async () => {
  const offers = Array.from({ length: 60 }, (_, index) =>
    makeParsedOffer({ merchant: `Shop ${index}`, affiliateUrl: `https://links.example/${'x'.repeat(900)}` }),
  )
  for (let index = 1; index <= 400; index += 1) {
    const gtin = toGtin(index)
    const product = makeProduct({ gtin, offers })
    await copy.putLookups([{ channelId: CHANNEL, gtin, entry: { product, asOfMs: 100 } }])
  }
  expect(statSync(path).size).toBeGreaterThan(10_000_000)
  expect(statSync(`${path}-wal`).size).toBeLessThan(20_000_000)
})

test('look-up that the database rejects - only this one fails, with the reason', async () => {
  const database = openSqlite({ path, role: 'writer' })
  database
    .prepare(
      `create trigger reject_product before insert on products when new.gtin = '${toGtin(2)}'
       begin select raise(abort, 'rejected'); end`,
    )
    .run([])
  database.close()
  const results = await putAll([1, 2, 3].map((index) => toLookup(index, 100, '9.90')))
  expect(results).toMatchObject([
    { status: 'fulfilled' },
    { reason: { code: 'VITRINE_STORE_FAILED', message: expect.stringContaining('rejected') } },
    { status: 'fulfilled' },
  ])
})

test('file locked by another process - the look-ups fail soon; later ones are stored', async () => {
  await putAll([toLookup(1, 100, '9.90')])
  const other = openSqlite({ path, role: 'writer' })
  onTestFinished(() => other.close())
  other.prepare('begin immediate').run([])
  const failed = await putAll([2, 3].map((index) => toLookup(index, 100, '9.90')))
  expect(failed).toMatchObject([
    { reason: { code: 'VITRINE_STORE_FAILED' } },
    { reason: { code: 'VITRINE_STORE_FAILED' } },
  ])
  expect(await readBox(copy, toGtin(1))).toBe('price 9.90 @100')
  other.prepare('rollback').run([])
  await vi.waitFor(() => copy.putLookups([toLookup(4, 100, '9.90')]))
  expect(await readBox(copy, toGtin(4))).toBe('price 9.90 @100')
})
