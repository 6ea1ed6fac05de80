import { randomBytes } from 'node:crypto'
import type { CatalogClient, CatalogClientOptions } from '../catalog/client.ts'
import type { Config } from '../config/config.ts'
import { type DatabaseAddress, describeDatabase } from '../config/database-address.ts'
import { createFixedKeySource, openKeySource } from '../config/key-source.ts'
import { Secret } from '../config/secrets.ts'
import type { CatalogConnection, Context, ContextOptions, Demo } from '../context.ts'
import { findEmbeddedCatalog, toEmbeddedIdentity } from '../storage/embedded-catalogs.ts'
import { describeStoreFailure } from '../storage/store-failures.ts'
import type { CommandContext } from './command.ts'

/** Bytes of the embedded catalog's key, which lives as long as the process and is stored nowhere. */
const EMBEDDED_KEY_BYTES = 32

/** Sample data in the place of a real catalog would be worse than none. */
const UNREADABLE_COPY_MESSAGE =
  'The embedded catalog is empty, and the stored copy cannot be read, so that it is not known whether there was a catalog. No sample data was put in; it is at the next start that can read the stored copy.'

/** What an empty catalog is called whose copy is not. */
export const LOST_CATALOG_MESSAGE =
  'The embedded catalog is empty, but the stored copy has channels of a real one. Boxes are shown from the stored copy, and "vitrine serve" puts no sample data in.'

/** How this machine reaches a listener: one on every address by its name, one of IPv6 in brackets. */
export function toLocalUrl(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * The catalog that a command calls: a remote one, or the embedded service, which is closed with it. `publicUrl` is where
 * the widget server's own pictures are: those of the sample data lie at the address that it was made for.
 */
type OpenedCatalog = Readonly<{
  catalog: CatalogConnection
  demo: Demo | null
  publicUrl: string
  close(): Promise<void>
}>

/** At the start of `serve` an empty catalog gets sample data, whose pictures and shop are served at `port`. */
type OpenCatalogOptions = Readonly<{ port: number; shouldAddSample: boolean }>

/**
 * Opens what `VITRINE_CATALOG_URL` says, or starts the embedded catalog service on loopback at a port of its choice.
 * @throws ConfigError when the key file is not usable.
 * @throws StoreError when the embedded catalog's database cannot be opened.
 */
export async function openCatalog(
  command: CommandContext,
  { port, shouldAddSample }: OpenCatalogOptions = { port: command.config.port, shouldAddSample: false },
): Promise<OpenedCatalog> {
  const { config, secrets } = command
  const { catalog } = config
  const publicUrl = config.publicUrl ?? toLocalUrl(config.host, port)
  if (catalog.kind === 'embedded') return openEmbeddedCatalog(command, publicUrl, shouldAddSample)
  return {
    catalog: { baseUrl: catalog.url, key: openKeySource(secrets), identity: catalog.url },
    demo: null,
    publicUrl,
    close: () => Promise.resolve(),
  }
}

async function openEmbeddedCatalog(
  { config, clock, logger }: CommandContext,
  publicUrl: string,
  shouldAddSample: boolean,
): Promise<OpenedCatalog> {
  const [{ startCatalogThread }, { createDemo }] = await Promise.all([
    import('../catalog-service/start-thread.ts'),
    import('../catalog-service/sample/sample-data.ts'),
  ])
  const key = new Secret(randomBytes(EMBEDDED_KEY_BYTES).toString('base64url'))
  const thread = await startCatalogThread({
    database: config.catalogDatabase,
    sampleBase: shouldAddSample ? publicUrl : null,
    findCopiedCatalogId: () =>
      findCopiedCatalogId(config.database).catch((error: unknown) => {
        logger.error({ reason: describeStoreFailure(error) }, UNREADABLE_COPY_MESSAGE)
        return null
      }),
    key,
    clock,
    logger,
  })
  if (thread.isContentLost) logger.error({ remedy: describeLostCatalogRemedy(config) }, LOST_CATALOG_MESSAGE)
  const sampleUrl = thread.sampleBase ?? publicUrl
  return {
    catalog: {
      baseUrl: thread.url,
      key: createFixedKeySource(key),
      identity: toEmbeddedIdentity(thread.catalogId),
    },
    demo: createDemo(sampleUrl, thread.readContent),
    publicUrl: sampleUrl,
    close: thread.close,
  }
}

/** Find the id of the catalog, other than sample data, that the stored copy was made of. */
export async function findCopiedCatalogId(database: DatabaseAddress): Promise<string | undefined> {
  const { getSampleData } = await import('../catalog-service/sample/sample-data.ts')
  const sampleIds = getSampleData().channels.map(({ id }) => id)
  return findEmbeddedCatalog(database, sampleIds)
}

/** Return what to do about a catalog that was lost. */
export function describeLostCatalogRemedy({ catalogDatabase, database }: Config): string {
  return `Stop the server, restore the database ${describeDatabase(catalogDatabase)} (VITRINE_CATALOG_DATABASE_URL) from its backup, and start again; or import the feeds again with "vitrine catalog import FILE --channel ID", where ID is the channel's old id. To begin anew with sample data, remove the stored copy ${describeDatabase(database)} (VITRINE_DATABASE_URL), too.`
}

/** A client for a command, which asks the catalog something and shows no pictures. */
export async function createCommandClient(
  { config, clock }: CommandContext,
  { baseUrl, key }: CatalogConnection,
  callOptions: Pick<CatalogClientOptions, 'callPolicy' | 'onClockSkew'>,
): Promise<CatalogClient> {
  const { createCatalogClient } = await import('../catalog/client.ts')
  const { catalogTimeoutMs: timeoutMs, catalogMaxBytes: maxBytes } = config
  const ownOrigin = 'http://localhost'
  return createCatalogClient({ baseUrl, key, timeoutMs, maxBytes, ownOrigin, clock, ...callOptions })
}

/** The long-lived parts of a command with the catalog that they call; `dispose` closes it, too. */
export type ContextWithCatalog = Context & Readonly<{ catalog: CatalogConnection }>

/** @throws ConfigError, StoreError as `openCatalog`; StoreNewerError when a newer version made the stored copy. */
export async function openContext(
  command: CommandContext,
  options: Pick<ContextOptions, 'walkRunner' | 'openLongReads'>,
  catalogOptions?: OpenCatalogOptions,
): Promise<ContextWithCatalog> {
  // The rest of the program is loaded while the embedded catalog starts in its thread.
  const [{ close, ...opened }, { createContext }] = await Promise.all([
    openCatalog(command, catalogOptions),
    import('../context.ts'),
  ])
  try {
    const context = await createContext({ ...command, ...options, ...opened })
    return {
      ...context,
      catalog: opened.catalog,
      async dispose() {
        try {
          await context.dispose()
        } finally {
          await close()
        }
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}
