import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { findProduct, importRows, makeProduct, openSqliteTestStore } from '../harness.ts'

const GTIN = '00000000000017'

describe('file of the catalog', () => {
  test.each([
    ['alone', true],
    ['embedded', false],
    ['command', false],
  ] as const)(
    'role %s - mapped for reading %s: elsewhere a disk that fails must not end the process',
    async (role, isMapped) => {
      const { database, clock } = await openSqliteTestStore()
      const store = await openCatalogStore({ database, clock, role })
      const { rows } = await sql<{ mmap_size: number }>`pragma mmap_size`.execute(store.reader)
      expect((rows[0]?.mmap_size ?? 0) > 0).toBe(isMapped)
      await store.close()
    },
  )

  test('approval revoked through another store of the same file - the next request knows', async () => {
    const under = await openSqliteTestStore()
    const { channelId } = await importRows(under, [makeProduct('17')])
    const other = await openCatalogStore({ database: under.database, clock: under.clock })
    expect(await findProduct(under, channelId, GTIN)).toMatchObject({ gtin: GTIN })
    await other.write((database) => database.updateTable('approvals').set({ revoked_at_ms: 1 }).execute())
    await other.close()
    expect(await findProduct(under, channelId, GTIN)).toBeNull()
  })

  test('channel of another organization, unknown channel - none', async () => {
    const { store, ...under } = await openSqliteTestStore()
    const { channelId } = await importRows({ store, ...under }, [makeProduct('17')])
    const { id } = await store.reader.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
    expect(await store.findProduct({ organizationId: 'other', channelId }, GTIN)).toBeUndefined()
    expect(await store.findProduct({ organizationId: id, channelId: 'other' }, GTIN)).toBeUndefined()
    const page = { organizationId: 'other', channelId, afterGtin: '', limit: 5 }
    expect(await store.fetchPage(page)).toBeUndefined()
  })
})
