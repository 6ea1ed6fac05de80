import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { importFile } from '../../../src/catalog-service/import/import-file.ts'
import { openTestStore } from '../../catalog-service/harness.ts'

test('a million rejected rows - the import ends early, and nothing is changed', async () => {
  const fixture = await openTestStore()
  const file = join(fixture.folder, 'feed.gz')
  writeFileSync(file, gzipSync('{}\n'.repeat(1_100_000)))
  let rows = 0
  const importing = importFile({
    store: fixture.store,
    file,
    format: 'ndjson',
    onProgress: (progress) => (rows = progress.rows),
  })
  await expect(importing).rejects.toThrow(/has hardly any usable rows: 1,000,\d{3} rejected; most often: /)
  expect(rows).toBeLessThan(1_000_500)
})
