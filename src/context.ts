import { type CallPolicy, createCallPolicy } from './catalog/call-policy.ts'
import { createCatalogClient } from './catalog/client.ts'
import { type Caches, createCaches } from './caches.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config/config.ts'
import type { KeySource } from './config/key-source.ts'
import type { Secrets } from './config/secrets.ts'
import type { ChannelSource } from './freshness/channels.ts'
import { createSources } from './freshness/sources.ts'
import { type AdminLimiter, createAdminLimiter } from './http/admin-limiter.ts'
import { type Assets, loadAssets } from './http/assets.ts'
import { createEtag, hashFolders } from './http/response.ts'
import { BUILT_FOLDER, VIEWS_FOLDER, WIDGETS_FOLDER, findFileId } from './lib/paths.ts'
import { createCatalogHealthLog } from './observability/catalog-health-log.ts'
import { type ClockMonitor, createClockMonitor } from './observability/clock-monitor.ts'
import { LogRateLimiter } from './observability/log-rate-limiter.ts'
import type { Logger } from './observability/logger.ts'
import { type Metrics, createMetrics } from './observability/metrics.ts'
import type { OpenLongReads } from './storage/long-reads.ts'
import { openReconnectingStore } from './storage/reconnecting-store.ts'
import { openSqlStore } from './storage/sql-store.ts'
import type { CopyStore } from './storage/store.ts'
import {
  type StoreFailure,
  type StoreHealth,
  createStoreHealth,
  logRecovery,
} from './storage/store-health.ts'
import type { WalkRunner } from './sync/walk-runner.ts'
import { WalkSupervisor, type WalkSupervisorDetails } from './sync/walk-supervisor.ts'
import { type Renderer, createRenderer } from './widgets/render.ts'
import { type Widgets, createWidgets } from './widgets/widgets.ts'

/** What the demonstration needs of the sample data. */
export type Demo = Readonly<{
  findPicture(name: string): string | undefined
  /** Find the product that a page of a fictional shop sells. */
  findListing(
    pageUrl: string,
  ):
    | Readonly<{ shop: string; title: string; price: string; currency: string; pictureUrl: string | null }>
    | undefined
  /** The box that the studio shows first. */
  showcase: Readonly<{ channelId: string; gtin: string }>
  /** Does the embedded catalog hold nothing but sample data now, nothing at all, or something of its operator's? */
  readContent(): Promise<'sample' | 'empty' | 'own'>
}>

/** Which catalog is called: its address, its key, and the name under which its copy is stored. */
export type CatalogConnection = WalkSupervisorDetails['catalog']

/** What a context is made of. */
export type ContextOptions = Readonly<{
  config: Config
  secrets: Secrets
  clock: Clock
  logger: Logger
  /** How the outside reaches this server, without a slash at its end. */
  publicUrl: string
  catalog: CatalogConnection
  /** `null` with a real catalog. */
  demo: Demo | null
  /** `null`: another process makes the walks. */
  walkRunner: WalkRunner | null
  /** How long reads of a SQLite copy are made; by default on the thread that answers. */
  openLongReads?: OpenLongReads
  /** Number of this process among those that answer; `undefined` where it is the only one. */
  worker?: number | undefined
}>

/** Every long-lived part of the widget server, made once and disposed of together. */
export type Context = Omit<ContextOptions, 'catalog' | 'walkRunner' | 'openLongReads'> &
  Readonly<{
    /** For lines about responses; bugs have their own, so that a flood of mistakes hides none. */
    logLimiters: Readonly<{ responses: LogRateLimiter; bugs: LogRateLimiter }>
    metrics: Metrics
    adminLimiter: AdminLimiter
    ownOrigin: string
    /** Changes with everything that bodies depend on beside their data and addresses: part of every validator. */
    version: string
    renderer: Renderer
    assets: Assets
    key: KeySource
    callPolicy: CallPolicy
    store: CopyStore
    findStoreFailure(): StoreFailure | null
    clockMonitor: ClockMonitor
    channels: ChannelSource
    widgets: Widgets
    caches: Caches
    walks: WalkSupervisor
    /** Resolves when the stored copy has what was looked up. */
    waitForWrites(): Promise<void>
    dispose(): Promise<void>
  }>

/**
 * Build the long-lived parts; nothing listens and nothing is called yet.
 * @throws StoreNewerError when the stored copy was made by a newer version. One that cannot be opened at all is reported,
 * and tried again.
 */
export async function createContext(options: ContextOptions): Promise<Context> {
  const { config, secrets, clock, logger, publicUrl, catalog, demo, worker } = options
  const ownOrigin = new URL(publicUrl).origin
  // What may be missing is loaded first: nothing is open yet that would have to be closed.
  const assets = loadAssets(BUILT_FOLDER)
  const renderer = createRenderer()
  const metrics = createMetrics()
  const storeHealth = createStoreHealth({ clock, logger, metrics })
  // The walks exist by then: a database that could not be opened is not tried again within a second.
  const store = await openStore(options, storeHealth, () => {
    void logRecovery(logger, store)
    void walks.ensureCopied()
  })
  const callPolicy = createCallPolicy({
    clock,
    unknownLookupsPerHour: config.freshness.unknownLookupsPerHour,
    dailyLimit: config.catalogDailyLimit,
    store,
    isShared: config.database.kind === 'postgres',
    onStoreFailure: storeHealth.recordFailure,
  })
  const clockMonitor = createClockMonitor({ clock, logger, store })
  const logCallOutcome = createCatalogHealthLog({
    clock,
    logger,
    limitedUntilMs: callPolicy.getRateLimitedUntilMs,
  })
  const client = createCatalogClient({
    baseUrl: catalog.baseUrl,
    key: catalog.key,
    timeoutMs: config.catalogTimeoutMs,
    maxBytes: config.catalogMaxBytes,
    ownOrigin,
    clock,
    callPolicy,
    onClockSkew: (skewMs) => clockMonitor.recordSkew('catalog', skewMs),
    onCall(call) {
      metrics.countCall(call)
      logCallOutcome(call)
    },
  })
  const caches = createCaches(config, clock)
  const parts = { config, clock, client, callPolicy, store, caches }
  const sources = createSources({
    ...parts,
    onStoreFailure: storeHealth.recordFailure,
    onDrops: metrics.countDrops,
  })
  const walks = new WalkSupervisor({ ...options, callPolicy, store, clockMonitor, metrics, ownOrigin })
  const stylePath = assets.get('vitrine.css').path
  return {
    config,
    secrets,
    clock,
    logger,
    publicUrl,
    demo,
    worker,
    logLimiters: { responses: new LogRateLimiter(clock), bugs: new LogRateLimiter(clock) },
    metrics,
    adminLimiter: createAdminLimiter(clock),
    ownOrigin,
    version: computeVersion(config, publicUrl, assets),
    renderer,
    assets,
    key: catalog.key,
    callPolicy,
    store,
    findStoreFailure: storeHealth.getLastFailure,
    clockMonitor,
    channels: sources.channels,
    widgets: createWidgets({ ...sources, clock, config, publicUrl, stylePath }),
    caches,
    walks,
    waitForWrites: sources.settle,
    async dispose() {
      clockMonitor.stop()
      await walks.stop()
      await client.close()
      await sources.stop()
      await store.close()
    },
  }
}

/** Open the stored copy. `onHealed`: it is available again after it was not. */
function openStore(
  options: ContextOptions,
  health: StoreHealth,
  onRecovered: () => void,
): Promise<CopyStore> {
  const { config, catalog, clock, openLongReads } = options
  const { database, freshness } = config
  const engine =
    database.kind === 'postgres'
      ? { visitorTimeoutMs: freshness.visitorTimeoutMs }
      : { clock, readFileId: () => findFileId(database.path) }
  return openReconnectingStore({
    ...engine,
    open: (timeouts) =>
      openSqlStore({
        database,
        catalog: catalog.identity,
        clock,
        timeouts,
        ...(openLongReads && { openLongReads }),
      }),
    onFailure: health.recordFailure,
    onRecovered,
    onReadOnly: health.recordReadOnly,
    onWritable: health.recordWritable,
  })
}

/** Everything that a body depends on beside its data and its address: templates, code, words, assets and settings. */
function computeVersion(config: Config, publicUrl: string, assets: Assets): string {
  const { locale, currency, disclosure } = config
  const paths = [assets.get('vitrine.css').path, assets.get('frame.js').path]
  const settings = JSON.stringify({ publicUrl, locale, currency, disclosure, paths })
  return createEtag(`${hashFolders([VIEWS_FOLDER, WIDGETS_FOLDER])} ${settings}`)
}
