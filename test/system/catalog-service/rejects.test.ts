import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { importFeed } from '../../../src/catalog-service/import/import-feed.ts'
import { makeFolder, makeProduct, openTestStore, writeFeed } from '../../catalog-service/harness.ts'

// The superuser may write everywhere.
it.skipIf(process.getuid?.() === 0)(
  'rejects file - folder not writable - goes to the current folder',
  async () => {
    const under = await openTestStore()
    const folder = makeFolder()
    const file = writeFeed(join(folder, 'feed.ndjson'), ['x', makeProduct('17')])
    chmodSync(folder, 0o500)
    const { rejectsPath } = await importFeed({ store: under.store, file, currentFolder: under.folder })
    chmodSync(folder, 0o700)
    expect(rejectsPath).toBe(join(under.folder, 'feed.ndjson.rejects'))
  },
)
