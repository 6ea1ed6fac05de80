import { toDay } from '../offers/price-history.ts'
import { describeStoreFailure } from '../database/failures.ts'
import type { CommandContext } from '../command.ts'
import type { ContextWithCatalog } from './open-catalog.ts'

/**
 * Import invented prices for the sample data, unless that was done before. A failure is only logged, because the server works
 * without them.
 */
export async function addSampleHistory(
  command: Pick<CommandContext, 'config' | 'clock' | 'logger'>,
  context: Pick<ContextWithCatalog, 'demo' | 'catalog'>,
): Promise<void> {
  const { config, clock, logger } = command
  if (config.history.keptDays === 0 || (await context.demo?.readCatalogContent()) !== 'sample') return
  try {
    const [{ openStoredCopy }, { createSampleHistory }, { getSampleData }] = await Promise.all([
      import('../storage/stored-copy.ts'),
      import('../catalog-service/sample/sample-history.ts'),
      import('../catalog-service/sample/sample-data.ts'),
    ])
    const { database, history } = config
    const store = await openStoredCopy({ database, catalog: context.catalog.copyName, clock, history })
    try {
      for (const channel of getSampleData().channels) {
        const days = await store.countObservedDays(channel.id)
        if (days === null || days.imported > 0) continue
        await store.importRuns(channel.id, createSampleHistory(channel, toDay(clock.nowMs())))
      }
    } finally {
      await store.close()
    }
  } catch (error) {
    logger.warn({ reason: describeStoreFailure(error) }, 'sample price history could not be stored')
  }
}
