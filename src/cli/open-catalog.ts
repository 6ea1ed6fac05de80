import { randomBytes } from 'node:crypto'
import type { CatalogClient, CatalogClientOptions } from '../catalog/client.ts'
import type { Config } from '../config/config.ts'
import { type DatabaseAddress, describeDatabase } from '../config/database-address.ts'
import { createFixedKeySource, openKeySource } from '../config/key-source.ts'
import { Secret } from '../config/secrets.ts'
import type { CatalogConnection, Context, ContextOptions, Demo } from '../context.ts'
import { findEmbeddedCatalog, toEmbeddedCopyName } from '../storage/channels.ts'
import { describeStoreFailure } from '../database/failures.ts'
import type { CommandContext } from '../command.ts'

/** Length of the embedded catalog's key, which is created at each start and never stored. */
const EMBEDDED_KEY_BYTES = 32

/** Logged because sample data must not replace a real catalog that was lost. */
const UNREADABLE_COPY_MESSAGE =
  'The embedded catalog is empty, and the stored copy cannot be read, so the server cannot tell whether a real catalog was lost. No sample data was added; the next start that can read the stored copy decides again.'

/** Shown when the embedded catalog is empty but the stored copy was made from a real one. */
export const LOST_CATALOG_MESSAGE =
  'The embedded catalog is empty, but the stored copy has channels of a real catalog. Boxes are shown from the stored copy, and "vitrine serve" adds no sample data.'

/** Return the address at which this machine reaches a listener; the host of an IPv6 address gets brackets. */
export function toLocalUrl(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** `publicUrl`: address of the widget server; with sample data, the address that its pictures were created for. */
type OpenedCatalog = Readonly<{
  catalog: CatalogConnection
  demo: Demo | null
  publicUrl: string
  close(): Promise<void>
}>

/**
 * `shouldAddSample`: add sample data, whose pictures and shop are served at `port`, to an empty catalog. `feeds`: run feeds when
 * they are due, and call `onRun` after each successful run.
 */
type OpenCatalogOptions = Readonly<{
  port: number
  shouldAddSample: boolean
  feeds: Readonly<{ onRun?: () => void }> | null
}>

/** @throws ConfigError or FileError when the key file is unusable; StoreError when the embedded database cannot be opened. */
export async function openCatalog(
  command: CommandContext,
  options: OpenCatalogOptions = { port: command.config.port, shouldAddSample: false, feeds: null },
): Promise<OpenedCatalog> {
  const { config, secrets } = command
  const { catalog } = config
  const publicUrl = config.publicUrl ?? toLocalUrl(config.host, options.port)
  if (catalog.kind === 'embedded') return openEmbeddedCatalog(command, publicUrl, options)
  return {
    catalog: { baseUrl: catalog.url, key: openKeySource(secrets), copyName: catalog.url },
    demo: null,
    publicUrl,
    close: () => Promise.resolve(),
  }
}

async function openEmbeddedCatalog(
  { config, clock, logger, secrets }: CommandContext,
  publicUrl: string,
  { shouldAddSample, feeds }: OpenCatalogOptions,
): Promise<OpenedCatalog> {
  const [{ startCatalogThread }, { createDemo }] = await Promise.all([
    import('../catalog-service/start-thread.ts'),
    import('../catalog-service/sample/sample-data.ts'),
  ])
  const key = new Secret(randomBytes(EMBEDDED_KEY_BYTES).toString('base64url'))
  const thread = await startCatalogThread({
    database: config.catalogDatabase,
    sampleBaseUrl: shouldAddSample ? publicUrl : null,
    findCopiedCatalogId: () =>
      findCopiedCatalogId(config.database).catch((error: unknown) => {
        logger.error({ reason: describeStoreFailure(error) }, UNREADABLE_COPY_MESSAGE)
        return null
      }),
    key,
    clock,
    logger,
    priceMaxAgeSeconds: config.priceMaxAgeSeconds,
    feedSecrets: feeds && secrets.feedSecrets,
    proxies: secrets.proxies,
    onFeedRun: () => feeds?.onRun?.(),
  })
  if (thread.isContentLost) logger.error({ remedy: describeLostCatalogRemedy(config) }, LOST_CATALOG_MESSAGE)
  const sampleUrl = thread.sampleBaseUrl ?? publicUrl
  return {
    catalog: {
      baseUrl: thread.url,
      key: createFixedKeySource(key),
      copyName: toEmbeddedCopyName(thread.catalogId),
    },
    demo: createDemo(sampleUrl, {
      readCatalogContent: thread.readCatalogContent,
      readFeeds: thread.readFeeds,
    }),
    publicUrl: sampleUrl,
    close: thread.close,
  }
}

/** Return the id of the catalog, other than sample data, that the stored copy was made from. */
export async function findCopiedCatalogId(database: DatabaseAddress): Promise<string | undefined> {
  const { getSampleData } = await import('../catalog-service/sample/sample-data.ts')
  const sampleIds = getSampleData().channels.map(({ id }) => id)
  return findEmbeddedCatalog(database, sampleIds)
}

export function describeLostCatalogRemedy({ catalogDatabase, database }: Config): string {
  return `Stop the server, restore the database ${describeDatabase(catalogDatabase)} (VITRINE_CATALOG_DATABASE_URL) from its backup, and start again; or import the feeds again with "vitrine catalog import FILE --channel ID", where ID is the channel's old id. To start again with sample data, also remove the stored copy ${describeDatabase(database)} (VITRINE_DATABASE_URL).`
}

/** Return a catalog client. Commands show no pictures, so `ownOrigin` does not matter. */
export async function createCommandClient(
  { config, secrets, clock }: CommandContext,
  { baseUrl, key }: CatalogConnection,
  callOptions: Pick<CatalogClientOptions, 'callPolicy' | 'onClockSkew'>,
): Promise<CatalogClient> {
  const { createCatalogClient } = await import('../catalog/client.ts')
  const { catalogTimeoutMs: timeoutMs, catalogMaxBytes: maxBytes } = config
  const ownOrigin = 'http://localhost'
  return createCatalogClient({
    baseUrl,
    key,
    timeoutMs,
    maxBytes,
    proxies: secrets.proxies,
    ownOrigin,
    clock,
    ...callOptions,
  })
}

/** `dispose` also closes the catalog. */
export type ContextWithCatalog = Context & Readonly<{ catalog: CatalogConnection }>

/** @throws ConfigError or StoreError as `openCatalog`; StoreVersionError when another version wrote the stored copy. */
export async function openContext(
  command: CommandContext,
  options: Pick<ContextOptions, 'walkRunner' | 'threads' | 'tracing'>,
  catalogOptions?: OpenCatalogOptions,
): Promise<ContextWithCatalog> {
  // Load the rest of the program while the embedded catalog starts in its thread.
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
