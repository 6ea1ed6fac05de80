import { describe } from 'vitest'
import { useServer } from './engines.ts'

/**
 * The same tests once more: each of these files says what the catalog does, whatever its database is. They share one server,
 * with a database for each catalog.
 */
describe('the catalog on PostgreSQL', async () => {
  useServer()
  await import('./contract.test.ts')
  await import('./sections.test.ts')
  await import('./visibility.test.ts')
  await import('./access.test.ts')
  await import('./authenticate.test.ts')
  await import('./walk-beside-import.test.ts')
  await import('./sample/sample.test.ts')
  await import('./store/keys.test.ts')
  await import('./store/usage.test.ts')
  await import('./store/products.test.ts')
  await import('./import/import-feed.test.ts')
  await import('./import/writer.test.ts')
  await import('../commands/catalog-owner.test.ts')
  await import('../commands/catalog-merchants.test.ts')
  await import('../commands/catalog-organizations.test.ts')
  await import('../commands/catalog-approvals.test.ts')
  await import('../commands/catalog-networks.test.ts')
})
