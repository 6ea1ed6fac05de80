import { type CatalogClient, type CatalogClientOptions, createCatalogClient } from '../catalog/client.ts'
import { type CatalogPlace, type Context, createContext } from '../context.ts'
import type { CommandContext } from './command.ts'
import { openCatalog } from './open-catalog.ts'

/** A client for a command, which asks the catalog something and shows no pictures. */
export function createCommandClient(
  { config, clock }: CommandContext,
  { baseUrl, key }: CatalogPlace,
  calls: Pick<CatalogClientOptions, 'gate' | 'onClockDifference'>,
): CatalogClient {
  const { catalogTimeoutMs: timeoutMs, catalogMaxBytes: maxBytes } = config
  return createCatalogClient({
    baseUrl,
    key,
    timeoutMs,
    maxBytes,
    ownOrigin: 'http://localhost',
    clock,
    ...calls,
  })
}

/** A context for a command that serves nobody; it closes its catalog with it. */
export async function openForCommand(
  command: CommandContext,
): Promise<Context & Readonly<{ catalog: CatalogPlace }>> {
  const { config, secrets, clock, logger, io } = command
  const { place, publicUrl, close } = await openCatalog(command)
  try {
    const parts = { config, secrets, clock, logger, publicUrl, catalog: place, demo: null }
    const context = await createContext({ ...parts, walkRunner: io.runWalk })
    const dispose = async (): Promise<void> => {
      await context.dispose()
      await close()
    }
    return { ...context, catalog: place, dispose }
  } catch (error) {
    await close()
    throw error
  }
}
