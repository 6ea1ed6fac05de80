import { join } from 'node:path'
import { type RawBuilder, sql } from 'kysely'
import { expect, it } from 'vitest'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { systemClock } from '../../../src/clock.ts'
import { type DatabaseAddress, serializeDatabaseAddress } from '../../../src/config/database-address.ts'
import { createCatalogDatabase } from '../database-fixture.ts'
import { createProduct, writeFeed } from '../harness.ts'
import { addCleanup } from '../../helpers/cleanup.ts'
import { makeFolder, makeSettings, runInProcess } from '../../cli/run-cli.ts'

type OtherVersion = Readonly<{ migration: string; isUsage?: boolean }>

/** Create a catalog in which another version has recorded a migration. `isUsage`: in the file for usage. */
async function createOtherVersion(
  folder: string,
  { migration, isUsage = false }: OtherVersion,
): Promise<DatabaseAddress> {
  const database = await createCatalogDatabase(folder)
  const store = await openCatalogStore({ database, clock: systemClock })
  const run = (statement: RawBuilder<unknown>): Promise<unknown> =>
    isUsage
      ? store.usage.write(({ writer }) => statement.execute(writer))
      : store.write((catalog) => statement.execute(catalog))
  await run(sql`insert into kysely_migration (name, timestamp) values (${migration}, 'x')`)
  // On PostgreSQL, other tests use the database afterwards.
  addCleanup(async () => {
    await run(sql`delete from kysely_migration where name = ${migration}`)
    await store.close()
  })
  return database
}

const NEWER = /A newer version of Vitrine has migrated the database; nothing was changed/
const EARLIER =
  /A build of Vitrine before 1\.0\.0 created the (?:database ".+"|schema "vitrine_catalog" of the database), and this version cannot use it; nothing was changed/

it.each<[name: string, version: OtherVersion, errorCode: string, message: RegExp]>([
  ['a newer version', { migration: 'catalog-9999-later' }, 'VITRINE_STORE_NEWER', NEWER],
  [
    'a newer version, only its usage',
    { migration: 'usage-9999-later', isUsage: true },
    'VITRINE_STORE_NEWER',
    NEWER,
  ],
  ['a build before 1.0.0', { migration: '0008-feed-reading' }, 'VITRINE_STORE_OLDER', EARLIER],
  [
    'a build before 1.0.0, only its usage',
    { migration: '0004-feed-retry', isUsage: true },
    'VITRINE_STORE_OLDER',
    EARLIER,
  ],
])(
  'catalog of %s - every command exits with 1 and the reason',
  async (_name, version, errorCode, message) => {
    const folder = makeFolder()
    const address = serializeDatabaseAddress(await createOtherVersion(folder, version))
    const settings = makeSettings(folder, { VITRINE_CATALOG_DATABASE_URL: address })
    const feed = writeFeed(join(folder, 'feed.ndjson'), [createProduct('17')])
    const lists = ['organizations', 'keys', 'channels', 'networks', 'merchants', 'feeds']
    const commands = [
      ['check'],
      ['catalog', 'serve'],
      ['catalog', 'import', feed],
      ['catalog', 'keys', 'add', 'shop'],
      ...lists.map((name) => ['catalog', name]),
    ]
    for (const args of commands) {
      const { code, out, err } = await runInProcess(args, settings)
      const text = out + err
      expect([args, code, text]).toEqual([args, 1, expect.stringContaining(errorCode)])
      expect(text).toMatch(message)
      expect(text).not.toMatch(/^\s+at /m)
    }
  },
)
