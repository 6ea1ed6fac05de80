import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { findProduct, importRows, createProduct, openSqliteTestStore } from '../harness.ts'
import { getReader } from '../store-handles.ts'

const GTIN = '00000000000017'

describe('catalog on SQLite', () => {
  test.each([
    ['standalone', true],
    ['embedded', false],
    ['command', false],
  ] as const)(
    'role %s - memory-mapped: %s, because a disk failure would end a shared process',
    async (role, isMapped) => {
      const { database, clock } = await openSqliteTestStore()
      const store = await openCatalogStore({ database, clock, role })
      const { rows } = await sql<{ mmap_size: number }>`pragma mmap_size`.execute(await getReader(store))
      expect((rows[0]?.mmap_size ?? 0) > 0).toBe(isMapped)
      await store.close()
    },
  )

  test('approval revoked through another store of the same file - takes effect on the next request', async () => {
    const fixture = await openSqliteTestStore()
    const { channelId } = await importRows(fixture, [createProduct('17')])
    const other = await openCatalogStore({ database: fixture.database, clock: fixture.clock })
    expect(await findProduct(fixture, channelId, GTIN)).toMatchObject({ gtin: GTIN })
    await other.write((database) => database.updateTable('approvals').set({ revoked_at_ms: 1 }).execute())
    await other.close()
    expect(await findProduct(fixture, channelId, GTIN)).toBeNull()
  })

  test('channel of another organization, unknown channel - undefined', async () => {
    const { store, ...fixture } = await openSqliteTestStore()
    const { channelId } = await importRows({ store, ...fixture }, [createProduct('17')])
    const { id } = await (
      await getReader(store)
    )
      .selectFrom('organizations')
      .select('id')
      .executeTakeFirstOrThrow()
    expect(await store.findProduct({ organizationId: 'other', channelId }, GTIN)).toBeUndefined()
    expect(await store.findProduct({ organizationId: id, channelId: 'other' }, GTIN)).toBeUndefined()
    const page = { organizationId: 'other', channelId, afterGtin: '', limit: 5 }
    expect(await store.fetchPage(page)).toBeUndefined()
  })
})
