import * as fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { ImportSummary } from '../../../src/catalog-service/import/import-feed.ts'
import type { ImportFileOptions } from '../../../src/catalog-service/import/import-file.ts'
import { findMerchant } from '../../../src/catalog-service/store/merchants.ts'
import { toRunCount } from '../../helpers/property-runs.ts'
import { type StoreUnderTest, importText, createOffer, createProduct, openTestStore } from '../harness.ts'
import { getReader } from '../store-handles.ts'

const GTINS = ['17', '24', '31', '48', '55'] as const
const GTIN = GTINS[0].padStart(14, '0')
const CHANNEL_ID = '952a0000-0000-4000-8000-0000000000a1'
const TEMPLATE = 'https://net.example/c?m={merchant}&p={publisher}&u={url}'

/** Rows that an import looks up at once. The shops of the first batch are known when later batches are looked up. */
const BATCH_ROWS = 200

/** A row of a test feed: one of five products, its shop, and the changing parts. */
type Row = Readonly<{ gtin: number; shop: 'A' | 'B' | 'C'; price: number; title: string; twice: boolean }>

/** Constant rows that introduce each shop in the first batch. */
const SHOPS: readonly Row[] = (['A', 'B', 'C'] as const).map((shop, index) => ({
  gtin: index,
  shop,
  price: 900,
  title: 'of every feed',
  twice: false,
}))
const SHOP_GTINS = ['1007', '2004', '3001'] as const

const toUrl = ({ shop, gtin }: Row, more = ''): string =>
  `https://${shop.toLowerCase()}.example/p${gtin}${more}`

/** Create an NDJSON feed. Each of `parts` starts a new batch; blank lines fill the previous one. */
function toJsonFeed(...parts: readonly (readonly Row[])[]): string {
  const toLine = (row: Row, gtin: string | undefined): string => {
    const offer = { merchant: { name: row.shop }, price: `${row.price}.00`, affiliate_url: toUrl(row) }
    const second = { ...offer, merchant: { name: 'B' }, affiliate_url: toUrl(row, '?second') }
    const offers = [createOffer(offer), createOffer(second)]
    return JSON.stringify(
      createProduct(gtin ?? '', { title: row.title, offers: offers.slice(0, row.twice ? 2 : 1) }),
    )
  }
  const lines = SHOPS.map((row, index) => toLine(row, SHOP_GTINS[index]))
  const blankLine = Array.from({ length: BATCH_ROWS }, () => '')
  const others = parts.flatMap((rows) => [...blankLine, ...rows.map((row) => toLine(row, GTINS[row.gtin]))])
  return `${[...lines, ...others].join('\n')}\n`
}

/** Like `toJsonFeed`, as an Awin table in which rows without a GTIN fill the batches. */
function toAwinFeed(...parts: readonly (readonly Row[])[]): string {
  const toLine = (row: Row, gtin: string | undefined): string =>
    [
      gtin?.padStart(14, '0'),
      row.title,
      toUrl(row),
      `${row.price}.00`,
      'EUR',
      row.shop,
      `id-${row.shop}`,
    ].join(',')
  const head = 'product_gtin,product_name,merchant_deep_link,search_price,currency,merchant_name,merchant_id'
  const lines = SHOPS.map((row, index) => toLine(row, SHOP_GTINS[index]))
  const bad = Array.from({ length: BATCH_ROWS }, () => ',,,,,,')
  const others = parts.flatMap((rows) => [...bad, ...rows.map((row) => toLine(row, GTINS[row.gtin]))])
  return `${[head, ...lines, ...others].join('\n')}\n`
}

/** Read the id of the import that wrote each product. */
async function readImports({ store }: StoreUnderTest): Promise<Record<number, number | null>> {
  const rows = await (await getReader(store)).selectFrom('products').select(['gtin', 'import_id']).execute()
  return Object.fromEntries(rows.map(({ gtin, import_id: id }) => [Number(gtin), id]))
}

/** Read everything that imports write, except import ids. */
async function readCatalog({ store }: StoreUnderTest): Promise<unknown> {
  const reader = await getReader(store)
  const products = reader.selectFrom('products').select(['gtin', 'title', 'brand', 'images']).orderBy('gtin')
  const offers = reader
    .selectFrom('offers as o')
    .innerJoin('networks as n', 'n.id', 'o.network_id')
    .innerJoin('merchants as m', 'm.id', 'o.merchant_id')
    .select(['o.gtin', 'n.name as network', 'm.name as merchant', 'o.network_channel_id', 'o.currency'])
    .select(['o.variant', 'o.price', 'o.old_price', 'o.availability', 'o.url'])
    .orderBy('o.gtin')
    .orderBy('n.name')
    .orderBy('m.name')
    .orderBy('o.network_channel_id')
    .orderBy('o.variant')
  const references = reader.selectFrom('network_merchants').selectAll().orderBy('reference')
  const approvals = reader
    .selectFrom('approvals')
    .selectAll()
    .orderBy('merchant_id')
    .orderBy('network_channel_id')
  return [
    await products.execute(),
    await offers.execute(),
    await references.execute(),
    await approvals.execute(),
  ]
}

/** Delete the sources, so that the next import reads and writes every row. */
async function clearSources({ store }: StoreUnderTest): Promise<void> {
  await store.write((database) => database.updateTable('products').set({ source: null }).execute())
}

const ROWS: readonly Row[] = GTINS.map((_, gtin) => ({ gtin, shop: 'A', price: 10, title: 'T', twice: true }))

const importJson = (
  fixture: StoreUnderTest,
  rows: readonly Row[],
  options: Partial<ImportFileOptions> = {},
): Promise<ImportSummary> => importText(fixture, toJsonFeed(rows), { channelId: CHANNEL_ID, ...options })

/** A row of a Google table with a sale price. */
const toSaleLine = (gtin: string, more: string): string =>
  `${gtin.padStart(14, '0')},T,https://a.example/p,20 EUR,10 EUR,${more}`

/** Apply a change that an operator makes between two imports. */
async function applyChange({ store }: StoreUnderTest, kind: string): Promise<void> {
  await store.write(async (database) => {
    if (kind === 'template' || kind === 'no template')
      await database
        .updateTable('networks')
        .set({ link_template: kind === 'template' ? TEMPLATE : null })
        .where('name', '=', 'N')
        .execute()
    const merchant = kind === 'offers of A' ? await findMerchant(database, 'A') : undefined
    if (merchant !== undefined) {
      await database.deleteFrom('offers').where('merchant_id', '=', merchant.id).execute()
      await sql`delete from products where gtin not in (select gtin from offers)`.execute(database)
    }
    if (kind === 'approvals') await database.deleteFrom('approvals').execute()
    if (kind === 'channel') await database.updateTable('network_channels').set({ channel_id: null }).execute()
  })
}

describe('known rows', () => {
  test.each([
    ['JSON lines', toJsonFeed(ROWS)],
    ['a table', toAwinFeed(ROWS)],
    [
      'XML',
      `<rss xmlns:g="http://base.google.com/ns/1.0"><channel>${'<item/>'.repeat(BATCH_ROWS)}${GTINS.map(
        (gtin) =>
          `<item><g:gtin>${gtin.padStart(14, '0')}</g:gtin><title>T</title><link>https://a.example/</link><g:price>5 EUR</g:price></item>`,
      ).join('')}</channel></rss>`.replace('<item/>', createShopItem()),
    ],
  ])('unchanged feed, %s - leaves the products unchanged and gives the same summary', async (_what, feed) => {
    const fixture = await openTestStore()
    const first = await importText(fixture, feed)
    const before = await readCatalog(fixture)
    const second = await importText(fixture, feed)
    expect(second).toEqual(first)
    expect(await readCatalog(fixture)).toEqual(before)
    const imports = await readImports(fixture)
    expect(GTINS.map((gtin) => imports[Number(gtin)])).toEqual([1, 1, 1, 1, 1])
  })

  test('one row changed, one missing - only these are written and removed', async () => {
    const fixture = await openTestStore()
    await importJson(fixture, ROWS)
    const changed = ROWS.slice(1).map((row) => (row.gtin === 2 ? { ...row, price: 11 } : row))
    expect(await importJson(fixture, changed)).toMatchObject({ products: 7, offers: 11, removedOffers: 2 })
    expect(await readImports(fixture)).toMatchObject({ 24: 1, 31: 2, 48: 1, 55: 1 })
    expect(await readImports(fixture)).not.toHaveProperty('17')
  })

  test('offers that a command removed - are restored by the next import', async () => {
    const fixture = await openTestStore()
    await importJson(fixture, ROWS)
    const before = await readCatalog(fixture)
    await applyChange(fixture, 'offers of A')
    expect(await importJson(fixture, ROWS)).toMatchObject({ products: 8, offers: 13, removedOffers: 0 })
    expect(await readCatalog(fixture)).toEqual(before)
  })

  test.each([
    ['in one batch', (rows: readonly Row[]) => [rows]],
    ['in two batches', (rows: readonly Row[]) => rows.map((row) => [row])],
  ])(
    'product of two rows, %s - when one row is missing, its offers and title are removed',
    async (_what, toParts) => {
      const rows: Row[] = [
        { gtin: 0, shop: 'A', price: 10, title: 'Cheap', twice: false },
        { gtin: 0, shop: 'C', price: 11, title: 'Expensive', twice: false },
      ]
      for (const [index, title] of ['Cheap', 'Expensive'].entries()) {
        const fixture = await openTestStore()
        await importText(fixture, toJsonFeed(...toParts(rows)))
        const left = rows.filter((_, at) => at === index)
        expect(await importText(fixture, toJsonFeed(left))).toMatchObject({ offers: 4, removedOffers: 1 })
        const product = (await getReader(fixture.store))
          .selectFrom('products')
          .select('title')
          .where('gtin', '=', GTIN)
        expect(await product.execute()).toEqual([{ title }])
      }
    },
  )

  test('row with a reject - is read again, with the same reject', async () => {
    const fixture = await openTestStore()
    const bad = createProduct('62', {
      offers: [createOffer({ merchant: { name: 'A' } }), createOffer({ price: 'x' })],
    })
    const feed = `${toJsonFeed(ROWS)}${JSON.stringify(bad)}\n`
    expect(await importText(fixture, feed)).toMatchObject({ rejected: 1 })
    expect(await importText(fixture, feed)).toMatchObject({ rejected: 1, products: 9 })
    expect(await readImports(fixture)).toMatchObject({ 17: 1, 62: 2 })
  })

  test('sale that ends - its row is skipped by the next import, because the period is stored', async () => {
    const fixture = await openTestStore()
    const feed = [
      'gtin,title,link,price,sale_price,sale_price_effective_date',
      toSaleLine('1007', ''),
      ...Array.from({ length: BATCH_ROWS }, () => ',,,,,'),
      toSaleLine('17', '2026-05-01/2026-05-01'),
      toSaleLine('24', ''),
    ].join('\n')
    await importText(fixture, feed)
    fixture.clock.step(86_400_000)
    await importText(fixture, feed)
    expect(await readImports(fixture)).toMatchObject({ 17: 1, 24: 1 })
  })

  test('another merchant name - every row is read again with it', async () => {
    const fixture = await openTestStore()
    await importJson(fixture, ROWS)
    await importJson(fixture, ROWS, { merchant: 'M' })
    const rows = await (await getReader(fixture.store)).selectFrom('offers').select('import_id').execute()
    expect(rows.every(({ import_id: id }) => id === 2 || id === 1)).toBe(true)
    expect(await readImports(fixture)).toMatchObject({ 17: 2, 24: 2, 31: 2, 48: 2, 55: 2 })
  })
})

describe('imports that skip rows', () => {
  const row: fc.Arbitrary<Row> = fc.record({
    gtin: fc.integer({ min: 0, max: 4 }),
    shop: fc.constantFrom('A', 'B', 'C'),
    price: fc.constantFrom(10, 11),
    title: fc.constantFrom('T', 'U'),
    twice: fc.boolean(),
  })
  // Many feeds contain the first rows unchanged.
  const rows = fc
    .tuple(fc.subarray([...ROWS]), fc.array(row, { maxLength: 4 }), fc.boolean())
    .map(([same, others, isFirst]) => (isFirst ? [same, others] : [others, same]))
  const change = fc.constantFrom(
    'nothing',
    'nothing',
    'template',
    'no template',
    'offers of A',
    'approvals',
    'channel',
  )
  const steps = fc.array(
    fc.record({ rows, change, isTable: fc.boolean(), network: fc.constantFrom('N', 'O') }),
    { minLength: 2, maxLength: 5 },
  )

  test('any feeds, with changes between them - same catalog and summaries as imports that read every row', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const [skippingRun, readingRun] = [await openTestStore(), await openTestStore()]
        for (const step of all) {
          const feed = step.isTable ? toAwinFeed(...step.rows) : toJsonFeed(...step.rows)
          const options = { channelId: CHANNEL_ID, network: step.network }
          const summaries: unknown[] = []
          await clearSources(readingRun)
          for (const fixture of [skippingRun, readingRun]) {
            await applyChange(fixture, step.change)
            const { rejectsPath: _, ...summary } = await importText(fixture, feed, options)
            summaries.push(summary)
          }
          expect(summaries[0]).toEqual(summaries[1])
          expect(await readCatalog(skippingRun)).toEqual(await readCatalog(readingRun))
        }
      }),
      { numRuns: toRunCount(60) },
    )
  })
})

/** Create the item that introduces the shop of the XML feed. */
function createShopItem(): string {
  return '<item><g:gtin>00000000001007</g:gtin><title>T</title><link>https://a.example/</link><g:price>5 EUR</g:price></item>'
}
