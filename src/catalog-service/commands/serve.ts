import { once } from 'node:events'
import type { Command } from 'commander'
import type { CatalogStore } from '../store/catalog-store.ts'
import { fetchApiKeys } from '../store/keys.ts'
import { openCatalogStore } from '../store/open-store.ts'
import type { DatabaseAddress } from '../../config/database-address.ts'
import { createLeaseOwner } from '../../database/leases.ts'
import { StoreError, type VitrineError } from '../../errors.ts'
import { isLoopback } from '../../http/client-address.ts'
import { type CommandContext, type Runner, addExamples, print } from '../../command.ts'
import { checkProcessLimits } from '../../lib/process-limits.ts'

export function addServe(catalog: Command, run: Runner): void {
  const command = catalog
    .command('serve')
    .description('run the catalog service without the widget server')
    .action(run(runCatalogServe))
  addExamples(command, 'vitrine catalog serve', [
    'VITRINE_HOST=0.0.0.0 VITRINE_PORT=8080 vitrine catalog serve',
  ])
}

/** Serve until the process is stopped. @throws ListenError or ConfigError when the server cannot listen on the address. */
async function runCatalogServe(context: CommandContext): Promise<void> {
  checkProcessLimits()
  const { clock, config, io, logger } = context
  const { adminPassword } = context.secrets
  const { createCatalogService } = await import('../service.ts')
  const { startFeedScheduler } = await import('../feeds/scheduler.ts')
  const { createFeedJobRunner } = await import('../feeds/feed-job.ts')
  const store = await openCatalogStore({
    database: config.catalogDatabase,
    clock,
    role: 'standalone',
    onMigrated: (migrations) => logger.info({ migrations }, 'catalog migrated'),
  })
  try {
    const { priceMaxAgeSeconds } = config
    const standalone = { adminPassword, isLocal: isLoopback(config.host), logger, priceMaxAgeSeconds }
    const service = createCatalogService({ store, logger, standalone })
    const hint = await findStartHint(store, config.catalogDatabase)
    const { url } = await service.listen(config.host, config.port)
    print(context, { url }, [`catalog service: ${url}`])
    if (hint !== undefined) io.err(hint)
    const owner = createLeaseOwner()
    const scheduler = startFeedScheduler({
      store,
      logger,
      owner,
      runFeed: createFeedJobRunner({
        database: config.catalogDatabase,
        owner,
        secrets: context.secrets.feedSecrets,
        proxies: context.secrets.proxies,
      }),
    })
    if (!io.signal.aborted) await once(io.signal, 'abort')
    await Promise.all([service.close(), scheduler.stop()])
  } finally {
    await store.close()
  }
}

/** Return what to do first. An unavailable database server is not fatal: the service uses it as soon as it is back. */
async function findStartHint(store: CatalogStore, { kind }: DatabaseAddress): Promise<string | undefined> {
  if (store.problem !== undefined) return describeUnavailable(store.problem)
  try {
    const keys = await store.read(fetchApiKeys)
    if (keys.some((key) => key.revokedAtMs === null)) return undefined
    return 'There are no API keys yet. Create one: vitrine catalog keys add NAME'
  } catch (error) {
    if (kind === 'sqlite' || !(error instanceof StoreError)) throw error
    return describeUnavailable(error)
  }
}

function describeUnavailable(error: VitrineError): string {
  return `Every request gets a 503 until this is fixed: ${error.describeWithRemedy()}`
}
