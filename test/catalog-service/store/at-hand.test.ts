import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createAtHand } from '../../../src/catalog-service/store/at-hand.ts'
import { openSqliteStore } from '../../../src/catalog-service/store/open-sqlite.ts'
import { createSnapshot } from '../../../src/catalog-service/store/snapshot.ts'
import { importRows, makeProduct, openSqliteTestStore } from '../harness.ts'

type SqliteUnderTest = Awaited<ReturnType<typeof openSqliteTestStore>>

async function openWithProduct(): Promise<SqliteUnderTest & { organizationId: string; channelId: string }> {
  const under = await openSqliteTestStore()
  const { channelId } = await importRows(under, [makeProduct('17')])
  const row = await under.store.reader.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  return { ...under, organizationId: row.id, channelId }
}

describe('what is at hand', () => {
  test('nothing changed - is read once, whatever is asked', async () => {
    const under = await openWithProduct()
    const statements: string[] = []
    const read: typeof under.store.read = (statement, parameters) => {
      statements.push(statement.trim())
      return under.store.read(statement, parameters)
    }
    const atHand = createAtHand({ ...under.store, read, snapshot: createSnapshot(read) })
    for (let index = 0; index < 3; index += 1) {
      expect(atHand.findView(under.organizationId, under.channelId)?.size).toBe(1)
      expect(atHand.findFirstOrganization()?.id).toBe(under.organizationId)
      await nextTurn()
    }
    const others = statements.filter((text) => !['begin', 'commit', 'pragma data_version'].includes(text))
    expect(others).toHaveLength(3)
  })

  test('approval revoked through another store of the same file - gone with the next turn', async () => {
    const under = await openWithProduct()
    const atHand = createAtHand(under.store)
    const other = await openSqliteStore({ path: under.path, clock: under.clock })
    expect(atHand.findView(under.organizationId, under.channelId)?.size).toBe(1)
    await nextTurn()
    await other.write((database) => database.updateTable('approvals').set({ revoked_at_ms: 1 }).execute())
    await other.close()
    expect(atHand.findView(under.organizationId, under.channelId)?.size).toBe(0)
  })

  test('channel - of another organization, unknown - none', async () => {
    const under = await openWithProduct()
    const atHand = createAtHand(under.store)
    expect(atHand.findView('other', under.channelId)).toBeUndefined()
    expect(atHand.findView(under.organizationId, 'other')).toBeUndefined()
  })
})

describe('reading that fails', () => {
  test('version that cannot be read - nothing kept is trusted, and the next turn reads again', async () => {
    const under = await openWithProduct()
    let isBroken = false
    const read: typeof under.store.read = (statement, parameters) => {
      if (isBroken && statement.startsWith('pragma')) throw new Error('disk I/O error')
      return under.store.read(statement, parameters)
    }
    const atHand = createAtHand({ ...under.store, read, snapshot: createSnapshot(read) })
    expect(atHand.findFirstOrganization()?.id).toBe(under.organizationId)
    await nextTurn()
    isBroken = true
    expect(() => atHand.findFirstOrganization()).toThrow('disk I/O error')
    expect(() => atHand.findFirstOrganization()).toThrow('disk I/O error')
    isBroken = false
    expect(atHand.findFirstOrganization()?.id).toBe(under.organizationId)
  })

  test('snapshot that the database has ended by itself - its end is no failure', async () => {
    const snapshot = createSnapshot((statement) => {
      if (statement === 'commit') throw new Error('cannot commit - no transaction is active')
      return []
    })
    expect(snapshot.begin()).toBe(true)
    await nextTurn()
    expect(snapshot.begin()).toBe(true)
    snapshot.end()
  })
})

describe('file of the catalog', () => {
  test.each([
    [true, true],
    [false, false],
  ])(
    'served alone %s - mapped for reading %s: elsewhere a disk that fails must not end the process',
    async (isServedAlone, isMapped) => {
      const { path, clock } = await openSqliteTestStore()
      const store = await openSqliteStore({ path, clock, isServedAlone })
      const [mapped] = store.read<{ mmap_size: number }>('pragma mmap_size', [])
      expect((mapped?.mmap_size ?? 0) > 0).toBe(isMapped)
      await store.close()
    },
  )
})

describe('snapshot', () => {
  test('of one turn - begins once and ends with it', async () => {
    const statements: string[] = []
    const snapshot = createSnapshot((statement) => {
      statements.push(statement)
      return []
    })
    expect([snapshot.begin(), snapshot.begin()]).toEqual([true, false])
    await nextTurn()
    expect(snapshot.begin()).toBe(true)
    snapshot.end()
    snapshot.end()
    await nextTurn()
    expect(statements).toEqual(['begin', 'commit', 'begin', 'commit'])
  })

  test('store closed in the middle of one - closes at once, and nothing is left behind', async () => {
    const under = await openWithProduct()
    const other = await openSqliteStore({ path: under.path, clock: under.clock })
    createAtHand(other).findFirstOrganization()
    await other.close()
    await nextTurn()
    expect(await under.store.reader.selectFrom('organizations').select('id').execute()).toHaveLength(1)
  })
})
