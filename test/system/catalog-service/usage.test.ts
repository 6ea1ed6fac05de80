import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { serializeDatabaseAddress } from '../../../src/config/database-address.ts'
import { openTestStore } from '../../catalog-service/harness.ts'
import { getUsage } from '../../catalog-service/store-handles.ts'

describe('usage with several processes', () => {
  test('four at once - together count exactly up to the daily limit', async () => {
    const { store, database } = await openTestStore()
    const dist = new URL('../../../dist/', import.meta.url).href
    const program = `
      const { openCatalogStore } = await import('${dist}catalog-service/store/open-store.js')
      const { parseSerializedAddress } = await import('${dist}config/database-address.js')
      const database = parseSerializedAddress(process.argv[1])
      const store = await openCatalogStore({ database, clock: { nowMs: () => 0 } })
      let counted = 0
      for (let round = 0; round < 100; round += 1) {
        const results = await Promise.all([1, 2, 3].map(() => store.countRequest({ id: 'a', dailyLimit: 700 })))
        counted += results.filter(Boolean).length
      }
      console.log(counted)
      await store.close()`
    const run = promisify(execFile)
    const parameters = ['--input-type=module', '-e', program, serializeDatabaseAddress(database)]
    const outputs = await Promise.all(Array.from({ length: 4 }, () => run(process.execPath, parameters)))
    const counts = outputs.map(({ stdout }) => Number(stdout))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(700)
    const rows = await (await getUsage(store)).selectFrom('usage').select(['day', 'requests']).execute()
    expect(rows).toEqual([{ day: '1970-01-01', requests: 700 }])
  })
})
