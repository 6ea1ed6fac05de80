import type { CallGate } from '../catalog/call-gate.ts'
import { type CatalogClient, createCatalogClient } from '../catalog/client.ts'
import type { CatalogPlace } from '../context.ts'
import type { CommandContext } from './command.ts'

/** The client of a command that asks the catalog something and shows no pictures. */
export function createCommandClient(
  { config, clock }: CommandContext,
  place: CatalogPlace,
  gate: CallGate,
): CatalogClient {
  return createCatalogClient({
    baseUrl: place.baseUrl,
    key: place.key,
    timeoutMs: config.catalogTimeoutMs,
    maxBytes: config.catalogMaxBytes,
    ownOrigin: 'http://localhost',
    clock,
    gate,
  })
}
