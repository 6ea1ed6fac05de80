import { createRequire } from 'node:module'
import { toGtin } from './catalog-data.mjs'
import { createRandom } from './statistics.mjs'

export const CATALOG = 'https://catalog.example'
/** The large channel has all deals that are asked for, the small one a tenth as many. */
export const CHANNELS = {
  large: '6f1c2a54-0c1d-4f43-9a43-5f6f6d0a7b10',
  small: '6f1c2a54-0c1d-4f43-9a43-5f6f6d0a7b11',
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** The time of all reads: 2026-11-01. */
export const NOW_MS = Date.UTC(2026, 10, 1, 12)

/** Products that are walked; the others are copies of them. */
const WALKED_PRODUCTS = 2_000
/** Observed days, enough for a reference price. On the last one, every tenth product gets cheaper. */
const DAYS = 31
const PAGE_PRODUCTS = 500

const KINDS = ['Desk Lamp', 'Copper Kettle', 'Trail Backpack', 'Road Bike Helmet', 'Wool Blanket']

/** Fill the copy of an open store, unless it is filled: walk some products through the store, then copy their rows by SQL. */
export async function fillCopy(store, { deals, path, server }) {
  const database = server === undefined ? openSqlite(path) : createPostgres(server)
  const [{ count }] = await database.all('select count(*) as count from deals')
  if (Number(count) === 0) {
    for (const channelId of Object.values(CHANNELS)) await walkDays(store, channelId)
    await database.multiply(deals)
  }
  const [counts] = await database.all(`select count(*) as deals,
    (select count(*) from products) as products from deals where is_observed = 0`)
  return {
    text: `${Number(counts.products)} products and ${Number(counts.deals)} deals in ${Object.keys(CHANNELS).length} channels`,
    readSize: database.readSize,
  }
}

async function walkDays(store, channelId) {
  for (let day = 1; day <= DAYS; day += 1) {
    const asOfMs = NOW_MS - 2 * HOUR_MS - (DAYS - day) * DAY_MS
    const products = createProducts(day === DAYS)
    const { walk } = await store.beginWalk(channelId, { nowMs: asOfMs, resumableSinceMs: asOfMs })
    let afterGtin = ''
    for (let first = 0; first < products.length; first += PAGE_PRODUCTS) {
      const page = products.slice(first, first + PAGE_PRODUCTS)
      const nextCursor = first + PAGE_PRODUCTS < products.length ? String(first) : null
      await store.applyPage(channelId, { walk, afterGtin, products: page, nextCursor, asOfMs, drops: {} })
      afterGtin = page.at(-1).gtin
    }
    await store.completeWalk(channelId, walk, { nowMs: asOfMs, isMalformed: false })
  }
}

/** Products with two offers each, of which most are deals. A few have a rare brand, merchant, network, word or price. */
function createProducts(isLastDay) {
  const random = createRandom(1)
  const pick = (count) => Math.floor(random() * count)
  return Array.from({ length: WALKED_PRODUCTS }, (_, index) => {
    const isRare = index === 20 || index === 21
    const kind = KINDS[pick(KINDS.length)]
    const basePrice = isRare ? 0.5 : 5 + pick(495)
    const offers = [0, 1].map((position) => {
      const price = basePrice * (1 + random() / 5)
      const isReduced = random() < 0.8
      const shownPrice = index % 10 === 0 && !isLastDay ? price * 1.3 : price
      return {
        merchant: isRare ? 'Rare Shop' : `Shop ${pick(20) + 20 * position}`,
        network: isRare ? 'rare network' : `network ${pick(4)}`,
        price: shownPrice.toFixed(2),
        oldPrice: isReduced ? (price * (1.4 + random())).toFixed(2) : null,
        currency: index % 50 === 49 ? 'USD' : 'EUR',
        availability: random() < 0.85 ? 'in_stock' : 'out_of_stock',
        affiliateUrl: `https://links.example/click?shop=${position}&page=https%3A%2F%2Fshop.example%2F${index}`,
        checkedAtMs: null,
        saleEndsAtMs: index % 25 === 5 ? NOW_MS + (index % 50 === 5 ? -HOUR_MS : DAY_MS) : null,
      }
    })
    const brand = index === 20 ? 'Rare Brand' : `Brand ${pick(40)}`
    return {
      gtin: toGtin(index),
      title: `${brand} ${kind} ${isRare ? 'Periscope ' : ''}${index}`,
      brand,
      images: [`https://pictures.example/${index}.jpg`],
      offers,
    }
  })
}

/** The tables whose rows are copied, each with the columns that a copy changes. */
const COPIED_TABLES = { products: ['id', 'gtin'], deals: ['id', 'product_id', 'gtin'] }

/** More than the difference of two walked GTINs. */
const GTIN_STEP = 100_000

/** The same statements for both engines. */
function createMultiplier({ all, run, listColumns, listIndexes, toGtinText, afterProducts }) {
  return async function multiply(deals) {
    const copies = await all('select id from copies order by id')
    const tables = Object.entries(COPIED_TABLES)
    let step = 0
    for (const [table] of tables)
      step = Math.max(step, Number((await all(`select max(id) + 1 as next from ${table}`))[0].next ?? 0))
    const [{ count }] = await all(`select count(*) as count from deals
      where copy_id = ${copies[0].id} and is_observed = 0`)
    const factors = [Math.ceil(deals / Number(count)), Math.ceil(deals / Number(count) / 10)]
    for (const [table, changed] of tables) {
      const indexes = await listIndexes(table)
      for (const { name } of indexes) await run(`drop index ${name}`)
      const columns = await listColumns(table)
      const values = columns.map((column) => {
        if (column === 'gtin') return toGtinText(`k * ${GTIN_STEP}`)
        return changed.includes(column) ? `${column} + k * ${step}` : column
      })
      let first = 1
      for (const [index, { id }] of copies.entries()) {
        const last = first + factors[index] - 2
        await run(`insert into ${table} (${columns.join(', ')})
          with recursive numbers(k) as (select ${first} union all select k + 1 from numbers where k < ${last})
          select ${values.join(', ')} from numbers cross join ${table} where copy_id = ${id}`)
        first = last + 1
      }
      if (table === 'products') await afterProducts(step)
      for (const { text } of indexes) await run(text)
    }
  }
}

function openSqlite(path) {
  const { DatabaseSync } =
    process.getBuiltinModule('node:sqlite') ?? createRequire(import.meta.url)('@photostructure/sqlite')
  const database = new DatabaseSync(path)
  const run = (text) => database.exec(text)
  const all = (text) => database.prepare(text).all()
  run('pragma busy_timeout = 60000; pragma synchronous = off; pragma cache_size = -500000')
  const multiply = createMultiplier({
    all,
    run,
    listColumns: (table) => all(`select name from pragma_table_info('${table}')`).map(({ name }) => name),
    listIndexes: (table) =>
      all(`select name, sql as text from sqlite_master
        where type = 'index' and sql is not null and tbl_name = '${table}'`),
    toGtinText: (more) => `printf('%014d', gtin + ${more})`,
    afterProducts(firstId) {
      run(`insert into product_words (rowid, words)
        select copy_id << 40 | id, search_text from products where id >= ${firstId}`)
      run('delete from deferred_words')
    },
  })
  return {
    all,
    async multiply(deals) {
      run('insert into deferred_words (is_deferred) values (1)')
      await multiply(deals)
      run('pragma wal_checkpoint(truncate)')
    },
  }
}

function createPostgres({ execute: run }) {
  const multiply = createMultiplier({
    all: run,
    run,
    listColumns: async (table) =>
      (
        await run(`select column_name as name from information_schema.columns
          where table_schema = 'vitrine_copy' and table_name = '${table}'`)
      ).map(({ name }) => name),
    listIndexes: (table) =>
      run(`select indexname as name, indexdef as text from pg_indexes
        where schemaname = 'vitrine_copy' and tablename = '${table}' and indexdef not like 'CREATE UNIQUE%'`),
    toGtinText: (more) => `lpad((gtin::bigint + ${more})::text, 14, '0')`,
    afterProducts: () => {},
  })
  return {
    all: run,
    async multiply(deals) {
      await multiply(deals)
      await run('vacuum (analyze)')
    },
    readSize: async () => Number((await run('select pg_database_size(current_database()) as size'))[0].size),
  }
}
