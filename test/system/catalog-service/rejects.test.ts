import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { importFile } from '../../../src/catalog-service/import/import-file.ts'
import { createFolder, createProduct, openTestStore, writeFeed } from '../../catalog-service/harness.ts'

// Root can write everywhere.
it.skipIf(process.getuid?.() === 0)(
  'rejects file - folder not writable - goes to the current folder',
  async () => {
    const fixture = await openTestStore()
    const folder = createFolder()
    const file = writeFeed(join(folder, 'feed.ndjson'), ['x', createProduct('17')])
    chmodSync(folder, 0o500)
    const { rejectsPath } = await importFile({ store: fixture.store, file, currentFolder: fixture.folder })
    chmodSync(folder, 0o700)
    expect(rejectsPath).toBe(join(fixture.folder, 'feed.ndjson.rejects'))
  },
)
