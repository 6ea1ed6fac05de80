import { randomBytes } from 'node:crypto'
import { createFixedKey, openKeySource } from '../../catalog/key-source.ts'
import { Secret } from '../../config/secrets.ts'
import type { CatalogPlace, Demo } from '../../context.ts'
import { toEmbeddedIdentity } from '../../storage/embedded-catalogs.ts'
import { describeStoreFailure } from '../../storage/reconnecting-store.ts'
import type { CommandContext } from '../command.ts'

/** Bytes of the embedded catalog's key, which lives as long as the process and is stored nowhere. */
const OWN_KEY_BYTES = 32

/** Sample data in the place of a real catalog would be worse than none. */
const UNKNOWN_COPY =
  'The embedded catalog is empty, and the stored copy cannot be read, so that it is not known whether there was a catalog. No sample data was put in; it is at the next start that can read the stored copy.'

/**
 * The catalog that a command calls: a remote one, or the embedded service, which is closed with it. `publicUrl` is where
 * the widget server's own pictures are: those of the sample data lie at the address that it was made for.
 */
export type OpenCatalog = Readonly<{
  place: CatalogPlace
  demo: Demo | null
  publicUrl: string
  close(): Promise<void>
}>

/** How this machine reaches a listener: one on every address by its name, one of IPv6 in brackets. */
export function toLocalUrl(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** `publicUrl` is where the sample's pictures and shop are served; `mayPutSample` only at the start of `serve`. */
export type OpenCatalogOptions = Readonly<{ publicUrl: string; mayPutSample: boolean }>

/**
 * Opens what `VITRINE_CATALOG_URL` says, or starts the embedded catalog service on loopback at a port of its choice.
 * @throws ConfigError when the key file is not usable.
 * @throws StoreError when the embedded catalog's database cannot be opened.
 */
export async function openCatalog(
  context: CommandContext,
  options: OpenCatalogOptions,
): Promise<OpenCatalog> {
  const { catalog } = context.config
  if (catalog.kind === 'embedded') return openEmbedded(context, options)
  return {
    place: { baseUrl: catalog.url, key: openKeySource(context.secrets), identity: catalog.url },
    demo: null,
    publicUrl: options.publicUrl,
    close: () => Promise.resolve(),
  }
}

async function openEmbedded(context: CommandContext, options: OpenCatalogOptions): Promise<OpenCatalog> {
  const { config, clock, logger } = context
  const [{ startCatalogThread }, { createDemo }, lost] = await Promise.all([
    import('../../catalog-service/start-thread.ts'),
    import('../../catalog-service/sample/demo.ts'),
    import('../lost-catalog.ts'),
  ])
  const key = new Secret(randomBytes(OWN_KEY_BYTES).toString('base64url'))
  const thread = await startCatalogThread({
    database: config.catalogDatabase,
    sampleBase: options.mayPutSample ? options.publicUrl : null,
    findCopied: async () =>
      lost.findCopiedCatalog(config.database).catch((error: unknown) => {
        logger.error({ reason: describeStoreFailure(error) }, UNKNOWN_COPY)
        return null
      }),
    key,
    clock,
    logger,
  })
  if (thread.isLost)
    logger.error({ remedy: lost.toLostRemedy(config.catalogDatabase, config.database) }, lost.LOST_CATALOG)
  const publicUrl = thread.sampleBase ?? options.publicUrl
  return {
    place: { baseUrl: thread.url, key: createFixedKey(key), identity: toEmbeddedIdentity(thread.catalogId) },
    demo: createDemo(publicUrl, thread.readContent),
    publicUrl,
    close: thread.close,
  }
}
