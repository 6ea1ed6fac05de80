import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { prepareTarget } from '../../../../src/catalog-service/import/feed-target.ts'
import { createFeedWriter } from '../../../../src/catalog-service/import/writer.ts'
import { seedSampleData } from '../../../../src/catalog-service/sample/seed-sample-data.ts'
import { createCatalogService } from '../../../../src/catalog-service/service.ts'
import { CATALOG_MIGRATIONS } from '../../../../src/catalog-service/store/tables.ts'
import { openCatalogStore } from '../../../../src/catalog-service/store/open-store.ts'
import { systemClock } from '../../../../src/clock.ts'
import { serializeDatabaseAddress } from '../../../../src/config/database-address.ts'
import type { PostgresAddress } from '../../../../src/config/database-address.ts'
import { createLogger } from '../../../../src/observability/logger.ts'
import { usePostgres } from '../../../helpers/postgres.ts'
import { makeSettings, startBuilt } from '../../../cli/run-cli.ts'
import {
  addApiKey,
  importRows,
  createFolder,
  createProduct,
  writeFeed,
} from '../../../catalog-service/harness.ts'
import type { CatalogStore } from '../../../../src/catalog-service/store/catalog-store.ts'
import { requestValidated } from '../../../catalog-service/openapi-validation.ts'
import { getReader } from '../../../catalog-service/store-handles.ts'

const server = usePostgres()

async function open(address: PostgresAddress): Promise<CatalogStore> {
  const store = await openCatalogStore({ database: address, clock: systemClock })
  onTestFinished(() => store.close())
  return store
}

async function startService(address: PostgresAddress): Promise<string> {
  const store = await open(address)
  const service = createCatalogService({
    store,
    logger: createLogger({ level: 'silent' }),
  })
  onTestFinished(() => service.close())
  return (await service.listen('127.0.0.1', 0)).url
}

describe('several processes on one database', () => {
  test('ten open an empty database at once - its tables and its ID are created once', async () => {
    const { address, url } = await server.makeDatabase()
    const stores = await Promise.all(Array.from({ length: 10 }, () => open(address)))
    const ids = await Promise.all(
      stores.map(({ read }) =>
        read((reader) => reader.selectFrom('meta').select('value').where('key', '=', 'catalog_id').execute()),
      ),
    )
    expect(new Set(ids.map(([row]) => row?.value)).size).toBe(1)
    const migrations = await server.run(url, 'select name from vitrine_catalog.kysely_migration')
    expect(migrations).toEqual(Object.keys(CATALOG_MIGRATIONS).map((name) => ({ name })))
  })

  test('four services - together allow exactly the daily limit, and count all requests', async () => {
    const { address, url } = await server.makeDatabase()
    const store = await open(address)
    const { key } = await addApiKey(store, 'one')
    await store.write((database) => database.updateTable('organizations').set({ daily_limit: 50 }).execute())
    const urls = await Promise.all([1, 2, 3, 4].map(() => startService(address)))
    const responses = await Promise.all(
      urls.flatMap((base) =>
        Array.from({ length: 20 }, () =>
          requestValidated(base).get('/v0/channels').set('Authorization', `Bearer ${key}`),
        ),
      ),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(50)
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(30)
    expect(await server.run(url, 'select requests from vitrine_catalog.usage')).toEqual([{ requests: '50' }])
  })

  test('key or approval revoked by one process - the next request to each service is rejected', async () => {
    const { address } = await server.makeDatabase()
    const store = await open(address)
    const folder = createFolder()
    const { channelId } = await importRows({ store, folder }, [createProduct('17')])
    const { id, key } = await addApiKey(store, 'one')
    const urls = await Promise.all([1, 2].map(() => startService(address)))
    const get = async (base: string): Promise<number> => {
      const path = `/v0/channels/${channelId}/products/17`
      return (await requestValidated(base).get(path).set('Authorization', `Bearer ${key}`)).status
    }
    expect(await Promise.all(urls.map(get))).toEqual([200, 200])
    await store.write((database) => database.updateTable('approvals').set({ revoked_at_ms: 1 }).execute())
    expect(await Promise.all(urls.map(get))).toEqual([404, 404])
    await store.write((database) =>
      database.updateTable('api_keys').set({ revoked_at_ms: 1 }).where('id', '=', id).execute(),
    )
    expect(await Promise.all(urls.map(get))).toEqual([401, 401])
  })
})

describe('requests', () => {
  test('invalid channel ID with characters that PostgreSQL cannot store - 404 or 400, never an error of the database', async () => {
    const { address } = await server.makeDatabase()
    const store = await open(address)
    const { key } = await addApiKey(store, 'one')
    const base = await startService(address)
    const statuses: number[] = []
    for (const id of ['%00', 'a%00b', "'", '%ED%A0%80']) {
      const pendingRequest = requestValidated(base).get(`/v0/channels/${id}/products/17`)
      statuses.push((await pendingRequest.set('Authorization', `Bearer ${key}`)).status)
    }
    expect(statuses).toEqual([404, 404, 404, 400])
  })

  test('pages of a channel that changes all the time - each page shows a single state', async () => {
    const { address } = await server.makeDatabase()
    const store = await open(address)
    const folder = createFolder()
    const rows = Array.from({ length: 60 }, (_, index) => createProduct(toGtin(index)))
    const { channelId } = await importRows({ store, folder }, rows)
    const { key } = await addApiKey(store, 'one')
    const base = await startService(address)
    const state = { isDone: false }
    const change = async (): Promise<void> => {
      for (let round = 0; !state.isDone; round += 1)
        await store.write((database) =>
          database
            .updateTable('approvals')
            .set({ revoked_at_ms: round % 2 === 0 ? 1 : null })
            .execute(),
        )
    }
    const changing = change()
    const counts: number[] = []
    for (let round = 0; round < 40; round += 1) {
      const pendingRequest = requestValidated(base).get(`/v0/channels/${channelId}/products?limit=50`)
      const { body } = await pendingRequest.set('Authorization', `Bearer ${key}`).expect(200)
      counts.push((body as { items: unknown[] }).items.length)
    }
    state.isDone = true
    await changing
    expect(counts.filter((count) => count !== 0 && count !== 50)).toEqual([])
  })
})

describe('writers', () => {
  test('import while another one runs - fails with this reason after five seconds; a server still starts', async () => {
    const { address } = await server.makeDatabase()
    const [first, second] = await Promise.all([open(address), open(address)])
    await seedSampleData(first, 'http://127.0.0.1:3000')
    const folder = createFolder()
    await first.write(async () => {
      expect(await seedSampleData(second, 'http://127.0.0.1:3000')).toBe(false)
      await expect(importRows({ store: second, folder }, [createProduct('17')])).rejects.toThrow(
        /^another import is running/,
      )
    })
  })

  test('concurrent writers - write one after the other, and nothing is lost', async () => {
    const { address } = await server.makeDatabase()
    const stores = await Promise.all([1, 2, 3].map(() => open(address)))
    await Promise.all(
      stores.flatMap((store, index) =>
        [1, 2].map((round) =>
          store.write(async (database) => {
            const { count } = await database
              .selectFrom('networks')
              .select((build) => build.fn.countAll<number>().as('count'))
              .executeTakeFirstOrThrow()
            await database
              .insertInto('networks')
              .values({ name: `${count}: ${index} ${round}` })
              .execute()
          }),
        ),
      ),
    )
    const networks = await stores[0]?.read((reader) =>
      reader.selectFrom('networks').select('name').orderBy('name').execute(),
    )
    expect(networks?.map(({ name }) => name.split(':')[0])).toEqual(['0', '1', '2', '3', '4', '5'])
  })

  test('transaction that fails by a conflict - is repeated, except a one-shot transaction', async () => {
    const { address } = await server.makeDatabase()
    const store = await open(address)
    const conflict = Object.assign(new Error('could not serialize access'), { code: '40001' })
    const work = vi.fn<() => Promise<string>>().mockRejectedValueOnce(conflict).mockResolvedValue('done')
    expect(await store.write(work)).toBe('done')
    expect(work).toHaveBeenCalledTimes(2)
    const once = vi.fn<() => Promise<string>>().mockRejectedValue(conflict)
    await expect(store.write(once, { isOneShot: true })).rejects.toThrow('could not serialize')
    expect(once).toHaveBeenCalledTimes(1)
  })
})

/** Return a GTIN with a valid check digit. */
function toGtin(index: number): string {
  const digits = String(index).padStart(13, '0')
  const sum = Array.from(digits).reduce(
    (total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 3 : 1),
    0,
  )
  return `${digits}${(10 - (sum % 10)) % 10}`
}

describe('import', () => {
  test('killed halfway - none of its rows are stored, and the next import can write at once', async () => {
    const { address } = await server.makeDatabase()
    const folder = createFolder()
    const store = await open(address)
    await importRows({ store, folder }, [createProduct('17')])
    const rows = Array.from({ length: 20_000 }, (_, index) =>
      createProduct(toGtin(index), { title: 'x'.repeat(300) }),
    )
    const feed = writeFeed(join(folder, 'many.ndjson'), rows)
    const settings = makeSettings(folder, { VITRINE_CATALOG_DATABASE_URL: serializeDatabaseAddress(address) })
    const running = startBuilt(['catalog', 'import', feed], settings)
    await vi.waitFor(async () => {
      const rows = await server.run(
        address.text.reveal(),
        `select 1 from pg_stat_activity where application_name = 'vitrine' and query like '%insert into "offers"%'`,
      )
      expect(rows.length).toBeGreaterThan(0)
    })
    await running.stop('SIGKILL')
    const count = await (await getReader(store)).selectFrom('products').select('gtin').execute()
    expect(count).toEqual([{ gtin: '00000000000017' }])
    const summary = await importRows({ store, folder }, [createProduct('24')])
    expect(summary).toMatchObject({ products: 1, removedOffers: 1 })
  })

  test('texts with characters that PostgreSQL cannot store - are stored without them', async () => {
    const { address } = await server.makeDatabase()
    const store = await open(address)
    const odd = 'a\u0000b\ud800c'
    const offer = {
      merchant: 'M',
      merchantReference: null,
      network: 'N',
      price: '1',
      oldPrice: null,
      salePeriod: null,
      checkedAtMs: null,
    } as const
    const offers = [{ ...offer, currency: 'EUR', availability: odd, url: odd, link: 'page' as const }]
    const product = { gtin: toGtin(1), title: odd, brand: odd, images: [odd], offers }
    await store.write(async (database) => {
      const target = await prepareTarget(database, { channelId: undefined, nowMs: 0 })
      const writer = await createFeedWriter(database, target, { feedId: 1, importId: 1 })
      await writer.write([{ row: 1, product }])
      await writer.finish(await writer.countOffers())
    })
    const row = await (await getReader(store)).selectFrom('products').selectAll().executeTakeFirstOrThrow()
    expect([row.title, row.brand, JSON.parse(row.images)]).toEqual(['ab\ufffdc', 'ab\ufffdc', [odd]])
    const { url } = await (
      await getReader(store)
    )
      .selectFrom('offers')
      .select('url')
      .executeTakeFirstOrThrow()
    expect(url).toBe('ab\ufffdc')
  })
})
