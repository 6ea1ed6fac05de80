import { labelDatabase } from '../config/database-text.ts'
import { once } from 'node:events'
import { createCatalogService } from '../catalog-service/service.ts'
import { fetchApiKeys } from '../catalog-service/store/keys.ts'
import { openCatalogStore } from '../catalog-service/store/open-store.ts'
import type { CommandContext, ExitCode } from './command.ts'

/**
 * `vitrine catalog serve`: the catalog service alone, on the host and port of the settings, until the process is told
 * to stop.
 * @throws UsageError when the address cannot be listened on.
 */
export async function runCatalogServe(context: CommandContext): Promise<ExitCode> {
  const { clock, config, io, logger } = context
  const store = await openCatalogStore({
    path: labelDatabase(config.catalogDatabase),
    clock,
    isServedAlone: true,
  })
  try {
    const service = createCatalogService({ store, clock, logger })
    const keys = await fetchApiKeys(store)
    const { url } = await service.listen(config.host, config.port)
    io.out(context.json ? JSON.stringify({ url }) : `catalog service: ${url}`)
    if (!keys.some((key) => key.revokedAtMs === null)) {
      io.err('There is no API key yet. Make one with: vitrine catalog keys add NAME\n')
    }
    if (!io.signal.aborted) await once(io.signal, 'abort')
    await service.close()
    return 0
  } finally {
    await store.close()
  }
}
