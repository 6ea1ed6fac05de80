import { existsSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { importFeed } from '../../../src/catalog-service/import/import-feed.ts'
import { putSampleData } from '../../../src/catalog-service/sample/put-sample.ts'
import { getSample } from '../../../src/catalog-service/sample/sample-data.ts'
import { fetchOwnedChannels } from '../../../src/catalog-service/store/channels.ts'
import { getCatalogId } from '../../../src/catalog-service/store/meta.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { findFirstOrganization } from '../../../src/catalog-service/store/organizations.ts'
import type { WireProduct } from '../../../src/catalog/contract.ts'
import {
  GTINS,
  fetchAll,
  findProduct,
  importRows,
  makeOffer,
  makeProduct,
  openTestStore,
  writeFeed,
} from '../harness.ts'

describe('import, into an empty catalog', () => {
  it('feed - two networks, two merchants - makes organization, channel, network channels and approvals', async () => {
    const under = await openTestStore()
    const offers = [makeOffer(), makeOffer({ network: 'Other', merchant: { name: 'Shop B' } })]
    const summary = await importRows(under, [makeProduct('17', { offers }), makeProduct('24')])
    expect(summary).toMatchObject({
      products: 2,
      offers: 3,
      rejected: 0,
      rejectsPath: null,
      replacedSample: false,
    })
    const [channel, ...others] = await fetchOwnedChannels(under.store.reader)
    expect(others).toEqual([])
    expect(channel).toMatchObject({ id: summary.channelId, kind: 'website' })
    const [first] = await fetchAll(under, summary.channelId)
    expect(first?.offers.map((offer) => offer.network)).toEqual(['Net', 'Other'])
    expect(existsSync(join(under.folder, 'feed.ndjson.rejects'))).toBe(false)
  })

  it('channel - a uuid of the own choice - the new channel has it, in lower case', async () => {
    const under = await openTestStore()
    const channelId = '952A0000-0000-4000-8000-00000000000A'
    const summary = await importRows(under, [makeProduct('17')], { channelId })
    expect(summary.channelId).toBe(channelId.toLowerCase())
  })

  it('network and merchant - named - stand in for those of every offer', async () => {
    const under = await openTestStore()
    const names = { network: 'N', merchant: 'M' }
    const { channelId } = await importRows(
      under,
      [makeProduct('17', { offers: [makeOffer({ merchant: undefined })] })],
      names,
    )
    const [product] = await fetchAll(under, channelId)
    expect(product?.offers[0]).toMatchObject({ network: 'N', merchant: { name: 'M' } })
  })

  it('offer - without network, availability and brand - gets the words for unknown', async () => {
    const under = await openTestStore()
    const offer = { merchant: { name: 'A' }, price: 5, currency: 'eur', affiliate_url: 'https://a.example/' }
    const { channelId } = await importRows(under, [{ gtin: '17', title: 'T', offers: [offer] }])
    const [product] = await fetchAll(under, channelId)
    expect(product).toEqual({
      gtin: '00000000000017',
      title: 'T',
      images: [],
      offers: [{ ...offer, price: '5', currency: 'EUR', network: 'feed', availability: 'unknown' }],
    })
  })
})

describe('import, again', () => {
  it("merchant of the file - replaces its offers; another merchant's stay", async () => {
    const under = await openTestStore()
    const other = makeOffer({ merchant: { name: 'Shop B' } })
    const { channelId } = await importRows(under, [
      makeProduct('17', { offers: [makeOffer(), other] }),
      makeProduct('24'),
    ])
    const summary = await importRows(under, [
      makeProduct('31'),
      makeProduct('17', { offers: [makeOffer({ price: '9' })] }),
    ])
    expect(summary).toMatchObject({ products: 2, offers: 2, channelId })
    const products = await fetchAll(under, channelId)
    expect(products.map((product) => product.gtin)).toEqual([GTINS[0], GTINS[2]])
    expect(products[0]?.offers.map((offer) => offer.price)).toEqual(['9', '10.00'])
    const left = await under.store.reader.selectFrom('products').select('gtin').execute()
    expect(left).toHaveLength(2)
  })

  it('approval revoked - stays revoked', async () => {
    const under = await openTestStore()
    const { channelId } = await importRows(under, [makeProduct('17')])
    await under.store.write((database) =>
      database.updateTable('approvals').set({ revoked_at_ms: 1 }).execute(),
    )
    await importRows(under, [makeProduct('17')])
    expect(await findProduct(under, channelId, GTINS[0])).toBeNull()
  })

  it('channel - several and none named, unknown, no uuid - UsageError, nothing changed', async () => {
    const under = await openTestStore()
    const { channelId } = await importRows(under, [makeProduct('17')])
    const unknown = '952a0000-0000-4000-8000-00000000ffff'
    const refused = { code: 'VITRINE_USAGE' }
    await expect(importRows(under, [makeProduct('24')], { channelId: unknown })).rejects.toMatchObject(
      refused,
    )
    await expect(importRows(under, [makeProduct('24')], { channelId: 'x' })).rejects.toMatchObject(refused)
    const row = await under.store.reader.selectFrom('channels').selectAll().executeTakeFirstOrThrow()
    await under.store.write((database) =>
      database
        .insertInto('channels')
        .values({ ...row, id: unknown })
        .execute(),
    )
    await expect(importRows(under, [makeProduct('24')])).rejects.toThrow('--channel')
    await importRows(under, [makeProduct('24')], { channelId: unknown })
    expect(await fetchAll(under, channelId)).toHaveLength(1)
    expect(await fetchAll(under, unknown)).toHaveLength(1)
  })

  it('readers - while the transaction is open - see the old state', async () => {
    const under = await openTestStore()
    const { channelId } = await importRows(under, [makeProduct('17')])
    const other = await openCatalogStore({ database: under.database, clock: under.clock })
    onTestFinished(() => other.close())
    const seen: (readonly WireProduct[])[] = []
    // Everything that the import does is done, but for its end.
    const write: typeof under.store.write = (work, options) =>
      under.store.write(async (transaction) => {
        const result = await work(transaction)
        seen.push(await fetchAll({ ...under, store: other }, channelId))
        return result
      }, options)
    await importRows({ ...under, store: { ...under.store, write } }, [makeProduct('24')])
    expect(seen.flat().map((product) => product.gtin)).toEqual([GTINS[0]])
    expect((await fetchAll(under, channelId)).map((product) => product.gtin)).toEqual([GTINS[1]])
  })
})

describe('import, over sample data', () => {
  it('sample - first import - replaces it, keeps organization and catalog id', async () => {
    const under = await openTestStore()
    await putSampleData(under.store, 'http://127.0.0.1:3000')
    const organization = await findFirstOrganization(under.store.reader)
    const catalogId = await getCatalogId(under.store)
    const summary = await importRows(under, [makeProduct('17')])
    expect(summary.replacedSample).toBe(true)
    expect((await fetchOwnedChannels(under.store.reader)).map(({ id }) => id)).toEqual([summary.channelId])
    expect(await fetchAll(under, summary.channelId)).toHaveLength(1)
    expect(await findFirstOrganization(under.store.reader)).toEqual(organization)
    expect(await getCatalogId(under.store)).toBe(catalogId)
    expect(await under.store.reader.selectFrom('networks').select('name').execute()).toEqual([
      { name: 'Net' },
    ])
  })

  it('sample - import fails - stays', async () => {
    const under = await openTestStore()
    await putSampleData(under.store, 'http://127.0.0.1:3000')
    await expect(importRows(under, ['{}'])).rejects.toMatchObject({ code: 'VITRINE_IMPORT_FAILED' })
    expect(await fetchOwnedChannels(under.store.reader)).toHaveLength(getSample().channels.length)
  })
})

describe('import, duplicates', () => {
  it('gtin - twice in a file, in any padding - offers are merged, the title is of the cheaper row', async () => {
    const under = await openTestStore()
    const second = makeOffer({ merchant: { name: 'Shop B' }, price: '9.00' })
    const image = { url: 'https://img.example/1.jpg' }
    const summary = await importRows(under, [
      makeProduct('17', { title: 'Dear', images: [image] }),
      makeProduct('00000000000017', { title: 'Cheap', brand: null, offers: [second] }),
    ])
    expect(summary).toMatchObject({ products: 1, offers: 2, rejected: 0 })
    const [product] = await fetchAll(under, summary.channelId)
    expect(product).toMatchObject({ title: 'Cheap', brand: 'Brand', images: [image] })
    expect(product?.offers).toEqual([makeOffer(), second])
  })

  it('offer - the same link twice - the later price holds', async () => {
    const under = await openTestStore()
    const offers = [makeOffer(), makeOffer({ price: '8.00' })]
    const summary = await importRows(under, [makeProduct('17', { offers })])
    expect(summary.offers).toBe(1)
    const [product] = await fetchAll(under, summary.channelId)
    expect(product?.offers[0]?.price).toBe('8.00')
  })
})

describe('import, files', () => {
  it('gzip - under any name - is told by its first bytes', async () => {
    const under = await openTestStore()
    const file = writeFeed(join(under.folder, 'feed.txt'), [makeProduct('17')], { gzip: true })
    expect(await importFeed({ store: under.store, file })).toMatchObject({ products: 1 })
  })

  it('plain - named .gz, with byte order mark, CRLF and no last line end - is read', async () => {
    const under = await openTestStore()
    const file = join(under.folder, 'feed.ndjson.gz')
    writeFileSync(
      file,
      `\ufeff${JSON.stringify(makeProduct('17'))}\r\n\r\n${JSON.stringify(makeProduct('24'))}`,
    )
    expect(await importFeed({ store: under.store, file })).toMatchObject({ products: 2, rejected: 0 })
  })

  it('gzip - truncated - ImportError, nothing changed', async () => {
    const under = await openTestStore()
    const { channelId } = await importRows(under, [makeProduct('17')])
    const rows = Array.from({ length: 3_000 }, (_, index) =>
      makeProduct('24', { title: `T ${index * 7_919}` }),
    )
    const file = writeFeed(join(under.folder, 'feed.gz'), rows, { gzip: true })
    truncateSync(file, 10_000)
    await expect(importFeed({ store: under.store, file })).rejects.toMatchObject({
      code: 'VITRINE_IMPORT_FAILED',
    })
    expect((await fetchAll(under, channelId)).map(({ gtin }) => gtin)).toEqual([GTINS[0]])
  })

  it.each([
    ['empty', ''],
    ['blank', '\n\n'],
    ['no usable product', '{}\n'],
  ])('file - %s - ImportError, the catalog stays empty', async (_, content) => {
    const under = await openTestStore()
    const file = join(under.folder, 'feed.ndjson')
    writeFileSync(file, content)
    await expect(importFeed({ store: under.store, file })).rejects.toMatchObject({
      code: 'VITRINE_IMPORT_FAILED',
    })
    expect(await fetchOwnedChannels(under.store.reader)).toEqual([])
    expect(await findFirstOrganization(under.store.reader)).toBeUndefined()
  })

  it.each(['missing.ndjson', '.'])('file - %s - ImportError that names it', async (name) => {
    const under = await openTestStore()
    const file = join(under.folder, name)
    await expect(importFeed({ store: under.store, file })).rejects.toThrow(file)
  })

  it('signal - aborted - ImportError, nothing changed', async () => {
    const under = await openTestStore()
    const signal = AbortSignal.abort()
    await expect(importRows(under, [makeProduct('17')], { signal })).rejects.toThrow('stopped')
    expect(await fetchOwnedChannels(under.store.reader)).toEqual([])
  })

  it('progress - at the end - has read the whole file', async () => {
    const under = await openTestStore()
    const seen: number[] = []
    await importRows(under, [makeProduct('17')], {
      onProgress: ({ readBytes, totalBytes, products }) => seen.push(readBytes / totalBytes, products),
    })
    expect(seen).toEqual([1, 1])
  })
})

describe('import, database', () => {
  it('catalog - not writable - StoreError', async () => {
    const under = await openTestStore()
    await under.store.write((database) => database.schema.dropTable('offers').execute())
    await expect(importRows(under, [makeProduct('17')])).rejects.toMatchObject({
      code: 'VITRINE_STORE_FAILED',
    })
  })
})
