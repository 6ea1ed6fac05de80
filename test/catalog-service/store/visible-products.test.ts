import { type KyselyPlugin, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { fetchVisiblePage } from '../../../src/catalog-service/store/visible-products.ts'
import { type StoreUnderTest, openTestStore } from '../harness.ts'
import {
  CHANNEL,
  NO_NETWORK_CHANNEL,
  type OfferSpec,
  insertAccounts,
  replaceOffers,
  toGtin,
} from './offers-fixture.ts'
import { getReader } from '../store-handles.ts'

type Row = Record<string, unknown>

async function openWith(offers: readonly OfferSpec[]): Promise<StoreUnderTest> {
  const fixture = await openTestStore()
  await fixture.store.write(async (database) => {
    await insertAccounts(database)
    await replaceOffers(database, offers)
  })
  return fixture
}

/** Read a page, and the rows of each of its statements. */
async function readPage(
  { store }: StoreUnderTest,
  limit: number,
): Promise<{ gtins: number[]; read: Row[][] }> {
  const read: Row[][] = []
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: ({ result }) => {
      read.push(result.rows)
      return Promise.resolve(result)
    },
  }
  const query = { organizationId: 'o', channelId: CHANNEL, afterGtin: '', limit }
  const { items } = await fetchVisiblePage((await getReader(store)).withPlugin(plugin), query, 0)
  return { gtins: items.map(({ gtin }) => Number(gtin)), read }
}

const listNumbers = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index)

/** An offer of merchant 4, which the channel may not show. */
const hidden = (gtin: number): OfferSpec => ({
  gtin,
  network: 1,
  merchant: 4,
  networkChannel: NO_NETWORK_CHANNEL,
})
const visible = (gtin: number, merchant: number): OfferSpec => ({
  gtin,
  network: 1,
  merchant,
  networkChannel: NO_NETWORK_CHANNEL,
})

describe('pages, rows read', () => {
  test('sparse channel - three of 3,000 products - found without reading the others', async () => {
    const numbers = listNumbers(1, 3_000)
    const fixture = await openWith(
      numbers.map((gtin) => (gtin % 1_000 === 7 ? visible(gtin, 1) : hidden(gtin))),
    )
    const { gtins, read } = await readPage(fixture, 2)
    expect(gtins).toEqual([7, 1_007])
    expect(read.flat().filter((row) => 'details' in row).length).toBeLessThan(60)
  })

  test('two shops, one with many products - only the one that has more is read again', async () => {
    const dense = listNumbers(2_001, 300)
    const offers = [
      ...listNumbers(1, 1_000).map(hidden),
      ...dense.map((gtin) => visible(gtin, 1)),
      visible(2_999, 2),
      { ...visible(2_998, 1), network: 2, networkChannel: 2 },
      { ...visible(2_998, 2), network: 2, networkChannel: 2 },
    ]
    const { gtins, read } = await readPage(await openWith(offers), 200)
    expect(gtins).toEqual(dense.slice(0, 200))
    const [first = [], ...later] = read.filter((rows) => rows.some((row) => 'gtins' in row))
    expect(new Set(first.map((row) => row['merchantId']))).toEqual(new Set([1, 2]))
    expect(later.length).toBeGreaterThan(0)
    expect(new Set(later.flat().map((row) => row['merchantId']))).toEqual(new Set([1]))
  })

  test('channel without approvals - empty after reading one page of products', async () => {
    const fixture = await openWith(listNumbers(1, 500).map(hidden))
    await fixture.store.write((database) => database.deleteFrom('approvals').execute())
    const { gtins, read } = await readPage(fixture, 5)
    expect(gtins).toEqual([])
    expect(read.flat().filter((row) => 'details' in row)).toHaveLength(6)
  })
})

const countDetails = (read: readonly Row[][]): number => read.flat().filter((row) => 'details' in row).length

describe('pages, no candidate that is never shown', () => {
  const DETAILS_OF_A_PAGE = 6

  test('template that needs the missing reference of the publisher - empty after one page of products', async () => {
    const fixture = await openWith(listNumbers(1, 500).map((gtin) => visible(gtin, 1)))
    await fixture.store.write(async (database) => {
      const link_template = 'https://net.example/{publisher}?u={url}'
      await database.updateTable('networks').set({ link_template }).execute()
      await database.updateTable('network_channels').set({ reference: '' }).execute()
      // Pages that were imported before the network had a template belong to a network channel.
      await database.updateTable('offers').set({ network_channel_id: 1 }).execute()
      await database.updateTable('feed_shops').set({ network_channel_id: 1 }).execute()
    })
    const { gtins, read } = await readPage(fixture, 5)
    expect([gtins, countDetails(read)]).toEqual([[], DETAILS_OF_A_PAGE])
  })

  test('pages of a shop in a feed that is farther than the own one - are not read', async () => {
    const fixture = await openWith(listNumbers(1, 1_000).map((gtin) => visible(gtin, 1)))
    await fixture.store.write(async (database) => {
      const other = { id: 'p', name: 'P', daily_limit: null, created_at_ms: 0 }
      await database.insertInto('organizations').values(other).execute()
      await sql`insert into feeds (id, name, organization_id, channel_id, created_at_ms, max_removed_percent)
        values (1, 'own', 'o', ${CHANNEL}, 0, 50), (2, 'other', 'p', null, 0, 50)`.execute(database)
      await sql`update products set feed_id = case when gtin > ${toGtin(999)} then 1 else 2 end`.execute(
        database,
      )
      await sql`update offers set feed_id = case when gtin > ${toGtin(999)} then 1 else 2 end`.execute(
        database,
      )
      await sql`delete from feed_shops`.execute(database)
      await sql`insert into feed_shops (feed_id, network_id, merchant_id, network_channel_id, is_page)
        select distinct feed_id, network_id, merchant_id, network_channel_id, is_page from offers`.execute(
        database,
      )
    })
    const { gtins, read } = await readPage(fixture, 5)
    expect(gtins).toEqual([1_000])
    expect(countDetails(read)).toBeLessThan(2 * DETAILS_OF_A_PAGE)
  })
})

describe('page of several statements', () => {
  test('approvals that change continuously - each page shows one state', async () => {
    const visibleGtins = [7, 1_007, 2_007]
    const fixture = await openWith([
      ...listNumbers(1, 2_500).map(hidden),
      ...visibleGtins.map((gtin) => visible(gtin, 1)),
    ])
    const done = { is: false }
    const change = async (): Promise<void> => {
      for (let round = 0; !done.is; round += 1)
        await fixture.store.write((database) =>
          database
            .updateTable('approvals')
            .set({ revoked_at_ms: round % 2 === 0 ? 1 : null })
            .execute(),
        )
    }
    const changing = change()
    const query = { organizationId: 'o', channelId: CHANNEL, afterGtin: '', limit: 50 }
    const counts: number[] = []
    for (let round = 0; round < 30; round += 1)
      counts.push((await fixture.store.fetchPage(query))?.items.length ?? -1)
    done.is = true
    await changing
    expect(counts.filter((count) => count !== 0 && count !== visibleGtins.length)).toEqual([])
  })
})
