import { existsSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { importFile } from '../../../src/catalog-service/import/import-file.ts'
import { seedSampleData } from '../../../src/catalog-service/sample/seed-sample-data.ts'
import { getSampleData } from '../../../src/catalog-service/sample/sample-data.ts'
import { fetchOwnedChannels } from '../../../src/catalog-service/store/channels.ts'
import { getCatalogId } from '../../../src/catalog-service/store/meta.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { findDefaultOrganization } from '../../../src/catalog-service/store/organizations.ts'
import type { CatalogStore } from '../../../src/catalog-service/store/catalog-store.ts'
import type { WireProduct } from '../../../src/catalog/contract.ts'
import { StoreError } from '../../../src/errors.ts'
import {
  CHECKED_AT,
  GTINS,
  fetchProducts,
  findProduct,
  importRows,
  createOffer,
  createProduct,
  openTestStore,
  writeFeed,
} from '../harness.ts'
import { getReader } from '../store-handles.ts'

it('import of a feed whose channel was removed - UsageError with the command that chooses another', async () => {
  const fixture = await openTestStore()
  await importRows(fixture, [createProduct('17')], { feedName: 'shop' })
  await fixture.store.write((database) => database.deleteFrom('channels').execute())
  await expect(importRows(fixture, [createProduct('17')], { feedName: 'shop' })).rejects.toMatchObject({
    code: 'VITRINE_USAGE',
    message:
      'the channel of the feed shop was removed; choose another one with "vitrine catalog feeds set shop --channel ID"',
  })
})

describe('import, whose connection is lost after the commit', () => {
  it('says that the feed may have been stored; the next import finds it unchanged', async () => {
    const fixture = await openTestStore()
    const { store } = fixture
    const write: CatalogStore['write'] = async (work, rules) => {
      await store.write(work, rules)
      throw new StoreError('the write failed', { cause: new Error('Connection terminated unexpectedly') })
    }
    await expect(
      importRows({ ...fixture, store: { ...store, write } }, [createProduct('17')]),
    ).rejects.toThrow(
      'the connection was lost before the database confirmed the import: Connection terminated unexpectedly. Import the feed again',
    )
    const [channel] = await fetchOwnedChannels(await getReader(store))
    const stored = await fetchProducts(fixture, channel?.id ?? '')
    expect(stored).toHaveLength(1)
    expect(await importRows(fixture, [createProduct('17')])).toMatchObject({ offers: 1, removedOffers: 0 })
    expect(await fetchProducts(fixture, channel?.id ?? '')).toEqual(stored)
  })
})

describe('import, into an empty catalog', () => {
  it('feed - two networks, two merchants - creates organization, channel, network channels and approvals', async () => {
    const fixture = await openTestStore()
    const offers = [createOffer(), createOffer({ network: 'Other', merchant: { name: 'Shop B' } })]
    const summary = await importRows(fixture, [createProduct('17', { offers }), createProduct('24')])
    expect(summary).toMatchObject({
      products: 2,
      offers: 3,
      rejected: 0,
      rejectsPath: null,
      replacedSample: false,
    })
    const [channel, ...others] = await fetchOwnedChannels(await getReader(fixture.store))
    expect(others).toEqual([])
    expect(channel).toMatchObject({ id: summary.channelId, kind: 'website' })
    const [first] = await fetchProducts(fixture, summary.channelId)
    expect(first?.offers.map((offer) => offer.network)).toEqual(['Net', 'Other'])
    expect(existsSync(join(fixture.folder, 'feed.ndjson.rejects'))).toBe(false)
  })

  it('channel - a chosen UUID - the new channel has it, in lower case', async () => {
    const fixture = await openTestStore()
    const channelId = '952A0000-0000-4000-8000-00000000000A'
    const summary = await importRows(fixture, [createProduct('17')], { channelId })
    expect(summary.channelId).toBe(channelId.toLowerCase())
  })

  it('network and merchant - given as options - replace those of every offer', async () => {
    const fixture = await openTestStore()
    const names = { network: 'N', merchant: 'M' }
    const { channelId } = await importRows(
      fixture,
      [createProduct('17', { offers: [createOffer({ merchant: undefined })] })],
      names,
    )
    const [product] = await fetchProducts(fixture, channelId)
    expect(product?.offers[0]).toMatchObject({ network: 'N', merchant: { name: 'M' } })
  })

  it('offer - without network, availability and brand - gets the values for unknown', async () => {
    const fixture = await openTestStore()
    const offer = { merchant: { name: 'A' }, price: 5, currency: 'eur', affiliate_url: 'https://a.example/' }
    const { channelId } = await importRows(fixture, [{ gtin: '17', title: 'T', offers: [offer] }])
    const [product] = await fetchProducts(fixture, channelId)
    expect(product).toEqual({
      gtin: '00000000000017',
      title: 'T',
      images: [],
      offers: [
        {
          ...offer,
          price: '5',
          currency: 'EUR',
          network: 'feed',
          availability: 'unknown',
          checked_at: CHECKED_AT,
        },
      ],
    })
  })
})

describe('import, again', () => {
  it('offers of the feed - are replaced, those of shops that left too', async () => {
    const fixture = await openTestStore()
    const other = createOffer({ merchant: { name: 'Shop B' } })
    const { channelId } = await importRows(fixture, [
      createProduct('17', { offers: [createOffer(), other] }),
      createProduct('24'),
    ])
    const summary = await importRows(fixture, [
      createProduct('31'),
      createProduct('17', { offers: [createOffer({ price: '9' })] }),
    ])
    expect(summary).toMatchObject({ products: 2, offers: 2, channelId })
    const products = await fetchProducts(fixture, channelId)
    expect(products.map((product) => product.gtin)).toEqual([GTINS[0], GTINS[2]])
    expect(products[0]?.offers.map((offer) => offer.price)).toEqual(['9'])
    const left = await (await getReader(fixture.store)).selectFrom('products').select('gtin').execute()
    expect(left).toHaveLength(2)
  })

  it('approval revoked - stays revoked', async () => {
    const fixture = await openTestStore()
    const { channelId } = await importRows(fixture, [createProduct('17')])
    await fixture.store.write((database) =>
      database.updateTable('approvals').set({ revoked_at_ms: 1 }).execute(),
    )
    await importRows(fixture, [createProduct('17')])
    expect(await findProduct(fixture, channelId, GTINS[0])).toBeNull()
  })

  it('channel - not given although there are several, unknown, or not a UUID - UsageError, nothing changed', async () => {
    const fixture = await openTestStore()
    const { channelId } = await importRows(fixture, [createProduct('17')])
    const unknown = '952a0000-0000-4000-8000-00000000ffff'
    const rejected = { code: 'VITRINE_USAGE' }
    await expect(importRows(fixture, [createProduct('24')], { channelId: unknown })).rejects.toMatchObject(
      rejected,
    )
    await expect(importRows(fixture, [createProduct('24')], { channelId: 'x' })).rejects.toMatchObject(
      rejected,
    )
    const row = await (
      await getReader(fixture.store)
    )
      .selectFrom('channels')
      .selectAll()
      .executeTakeFirstOrThrow()
    await fixture.store.write((database) =>
      database
        .insertInto('channels')
        .values({ ...row, id: unknown })
        .execute(),
    )
    await expect(importRows(fixture, [createProduct('24')])).rejects.toThrow('--channel')
    await importRows(fixture, [createProduct('24')], { channelId: unknown })
    expect(await fetchProducts(fixture, channelId)).toHaveLength(1)
    expect(await fetchProducts(fixture, unknown)).toHaveLength(1)
  })

  it('reader during the transaction - gets the old state', async () => {
    const fixture = await openTestStore()
    const { channelId } = await importRows(fixture, [createProduct('17')])
    const other = await openCatalogStore({ database: fixture.database, clock: fixture.clock })
    onTestFinished(() => other.close())
    const seen: (readonly WireProduct[])[] = []
    // The import has written everything, but has not committed.
    const write: typeof fixture.store.write = (work, options) =>
      fixture.store.write(async (transaction) => {
        const result = await work(transaction)
        seen.push(await fetchProducts({ ...fixture, store: other }, channelId))
        return result
      }, options)
    await importRows({ ...fixture, store: { ...fixture.store, write } }, [createProduct('24')])
    expect(seen.flat().map((product) => product.gtin)).toEqual([GTINS[0]])
    expect((await fetchProducts(fixture, channelId)).map((product) => product.gtin)).toEqual([GTINS[1]])
  })
})

describe('import over sample data', () => {
  it('first import - replaces sample data, keeps organization and catalog id', async () => {
    const fixture = await openTestStore()
    await seedSampleData(fixture.store, 'http://127.0.0.1:3000')
    const organization = await findDefaultOrganization(await getReader(fixture.store))
    const catalogId = await getCatalogId(await getReader(fixture.store))
    const summary = await importRows(fixture, [createProduct('17')])
    expect(summary.replacedSample).toBe(true)
    expect((await fetchOwnedChannels(await getReader(fixture.store))).map(({ id }) => id)).toEqual([
      summary.channelId,
    ])
    expect(await fetchProducts(fixture, summary.channelId)).toHaveLength(1)
    expect(await findDefaultOrganization(await getReader(fixture.store))).toEqual(organization)
    expect(await getCatalogId(await getReader(fixture.store))).toBe(catalogId)
    expect(await (await getReader(fixture.store)).selectFrom('networks').select('name').execute()).toEqual([
      { name: 'Net' },
    ])
  })

  it('import fails - sample data stays', async () => {
    const fixture = await openTestStore()
    await seedSampleData(fixture.store, 'http://127.0.0.1:3000')
    await expect(importRows(fixture, ['{}'])).rejects.toMatchObject({ code: 'VITRINE_IMPORT_FAILED' })
    expect(await fetchOwnedChannels(await getReader(fixture.store))).toHaveLength(
      getSampleData().channels.length,
    )
  })
})

describe('import, duplicates', () => {
  it('gtin - twice in a file, in any padding - offers are merged, the title comes from the cheaper row', async () => {
    const fixture = await openTestStore()
    const second = createOffer({ merchant: { name: 'Shop B' }, price: '9.00' })
    const image = { url: 'https://img.example/1.jpg' }
    const summary = await importRows(fixture, [
      createProduct('17', { title: 'Expensive', images: [image] }),
      createProduct('00000000000017', { title: 'Cheap', brand: null, offers: [second] }),
    ])
    expect(summary).toMatchObject({ products: 1, offers: 2, rejected: 0 })
    const [product] = await fetchProducts(fixture, summary.channelId)
    expect(product).toMatchObject({ title: 'Cheap', brand: 'Brand', images: [image] })
    expect(product?.offers).toEqual(
      [createOffer(), second].map((offer) => ({ ...offer, checked_at: CHECKED_AT })),
    )
  })

  it('offer - the same link twice - the later price is used', async () => {
    const fixture = await openTestStore()
    const offers = [createOffer(), createOffer({ price: '8.00' })]
    const summary = await importRows(fixture, [createProduct('17', { offers })])
    expect(summary.offers).toBe(1)
    const [product] = await fetchProducts(fixture, summary.channelId)
    expect(product?.offers[0]?.price).toBe('8.00')
  })
})

describe('import, files', () => {
  it('gzip - under any name - is detected by its first bytes', async () => {
    const fixture = await openTestStore()
    const file = writeFeed(join(fixture.folder, 'feed.txt'), [createProduct('17')], { gzip: true })
    expect(await importFile({ store: fixture.store, file })).toMatchObject({ products: 1 })
  })

  it('plain text named .gz, with byte order mark, CRLF and no final line end - is imported', async () => {
    const fixture = await openTestStore()
    const file = join(fixture.folder, 'feed.ndjson.gz')
    writeFileSync(
      file,
      `\ufeff${JSON.stringify(createProduct('17'))}\r\n\r\n${JSON.stringify(createProduct('24'))}`,
    )
    expect(await importFile({ store: fixture.store, file })).toMatchObject({ products: 2, rejected: 0 })
  })

  it('gzip - truncated - ImportError, nothing changed', async () => {
    const fixture = await openTestStore()
    const { channelId } = await importRows(fixture, [createProduct('17')])
    const rows = Array.from({ length: 3_000 }, (_, index) =>
      createProduct('24', { title: `T ${index * 7_919}` }),
    )
    const file = writeFeed(join(fixture.folder, 'feed.gz'), rows, { gzip: true })
    truncateSync(file, 10_000)
    await expect(importFile({ store: fixture.store, file })).rejects.toMatchObject({
      code: 'VITRINE_IMPORT_FAILED',
    })
    expect((await fetchProducts(fixture, channelId)).map(({ gtin }) => gtin)).toEqual([GTINS[0]])
  })

  it.each([
    ['empty', ''],
    ['blank', '\n\n'],
    ['no usable product', '{}\n'],
  ])('file - %s - ImportError, the catalog stays empty', async (_, content) => {
    const fixture = await openTestStore()
    const file = join(fixture.folder, 'feed.ndjson')
    writeFileSync(file, content)
    await expect(importFile({ store: fixture.store, file })).rejects.toMatchObject({
      code: 'VITRINE_IMPORT_FAILED',
    })
    expect(await fetchOwnedChannels(await getReader(fixture.store))).toEqual([])
    expect(await findDefaultOrganization(await getReader(fixture.store))).toBeUndefined()
  })

  it.each(['missing.ndjson', '.'])('file - %s - ImportError that names it', async (name) => {
    const fixture = await openTestStore()
    const file = join(fixture.folder, name)
    await expect(importFile({ store: fixture.store, file })).rejects.toThrow(file)
  })

  it('signal - aborted - ImportError, nothing changed', async () => {
    const fixture = await openTestStore()
    const signal = AbortSignal.abort()
    await expect(importRows(fixture, [createProduct('17')], { signal })).rejects.toThrow('stopped')
    expect(await fetchOwnedChannels(await getReader(fixture.store))).toEqual([])
  })

  it('progress - at the end - has read the whole file', async () => {
    const fixture = await openTestStore()
    const seen: number[] = []
    await importRows(fixture, [createProduct('17')], {
      onProgress: ({ readBytes, totalBytes, products }) => seen.push(readBytes / totalBytes, products),
    })
    expect(seen).toEqual([1, 1])
  })
})

describe('import, database', () => {
  it('catalog - not writable - StoreError', async () => {
    const fixture = await openTestStore()
    await fixture.store.write((database) => database.schema.dropTable('offers').execute())
    await expect(importRows(fixture, [createProduct('17')])).rejects.toMatchObject({
      code: 'VITRINE_STORE_FAILED',
    })
  })
})
