import { fetchChannels } from '../catalog-service/store/channels.ts'
import { openCatalogStore } from '../catalog-service/store/open-store.ts'
import type { CommandContext, ExitCode } from './command.ts'

/** `vitrine catalog channels [list]`: every channel of the catalog. */
export async function runCatalogChannels(context: CommandContext): Promise<ExitCode> {
  const { clock, config, io, json } = context
  const store = await openCatalogStore({ path: config.catalogDatabase.path, clock })
  try {
    const channels = await fetchChannels(store)
    if (json) io.out(JSON.stringify(channels))
    else if (channels.length === 0)
      io.err('There is no channel yet: vitrine catalog import FILE makes one.\n')
    else
      for (const { id, kind, name, url } of channels)
        io.out(`${id}  ${kind}  ${name}  ${url ?? '(no address)'}`)
    return 0
  } finally {
    await store.close()
  }
}
