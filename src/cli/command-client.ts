import { type CatalogClient, type CatalogClientOptions, createCatalogClient } from '../catalog/client.ts'
import type { CatalogPlace } from '../context.ts'
import type { CommandContext } from './command.ts'

/** The client of a command that asks the catalog something and shows no pictures. */
export function createCommandClient(
  { config, clock }: CommandContext,
  place: CatalogPlace,
  calls: Pick<CatalogClientOptions, 'gate' | 'onClockDifference'>,
): CatalogClient {
  return createCatalogClient({
    baseUrl: place.baseUrl,
    key: place.key,
    timeoutMs: config.catalogTimeoutMs,
    maxBytes: config.catalogMaxBytes,
    ownOrigin: 'http://localhost',
    clock,
    ...calls,
  })
}
