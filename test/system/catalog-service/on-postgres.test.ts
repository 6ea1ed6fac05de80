import { describe } from 'vitest'
import { usePostgresCatalogs } from '../../catalog-service/database-fixture.ts'

/**
 * Run the tests that do not depend on the kind of database again, on PostgreSQL. They share databases; each database is
 * emptied after its test.
 */
describe('the catalog on PostgreSQL', async () => {
  usePostgresCatalogs()
  await import('../../catalog-service/contract.test.ts')
  await import('../../catalog-service/contract-sections.test.ts')
  await import('../../catalog-service/visibility.test.ts')
  await import('../../catalog-service/heavy-products.test.ts')
  await import('../../catalog-service/access.test.ts')
  await import('../../catalog-service/authenticate.test.ts')
  await import('./walk-during-import.test.ts')
  await import('./usage.test.ts')
  await import('../../catalog-service/sample/sample.test.ts')
  await import('../../catalog-service/store/keys.test.ts')
  await import('../../catalog-service/store/usage.test.ts')
  await import('../../catalog-service/store/products.test.ts')
  await import('../../catalog-service/store/tables.test.ts')
  await import('../../catalog-service/feeds/feed-attempts.test.ts')
  await import('../../catalog-service/import/import-feed.test.ts')
  await import('../../catalog-service/import/skip-unchanged.test.ts')
  await import('../../catalog-service/import/writer.test.ts')
  await import('../../catalog-service/feeds/replacement.test.ts')
  await import('../../catalog-service/commands/end-to-end.test.ts')
  await import('../../catalog-service/commands/merchants.test.ts')
  await import('../../catalog-service/commands/organizations.test.ts')
  await import('../../catalog-service/commands/approvals.test.ts')
  await import('../../catalog-service/commands/networks.test.ts')
  await import('../../catalog-service/commands/other-versions.test.ts')
})
