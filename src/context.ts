import { type AdminLimiter, createAdminLimiter } from './http/admin-limiter.ts'
import { createCatalogHealth } from './observability/catalog-health.ts'
import { type CallGate, createCallGate } from './catalog/call-gate.ts'
import { type CatalogClient, createCatalogClient } from './catalog/client.ts'
import type { KeySource } from './config/key-source.ts'
import { type ClockWatch, createClockWatch } from './observability/clock-watch.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config/config.ts'
import type { Secrets } from './config/secrets.ts'
import type { BusyTimeouts } from './storage/dialects.ts'
import { openReconnectingStore } from './storage/reconnecting-store.ts'
import type { OpenLongReads } from './storage/long-reads.ts'
import { openSqlStore } from './storage/sql-store.ts'
import type { CopyStore } from './storage/store.ts'
import type { WalkRunner } from './sync/walk-runner.ts'
import { Walks } from './sync/walks.ts'
import type { ChannelSource } from './freshness/channels.ts'
import { createSources } from './freshness/sources.ts'
import { type Assets, loadAssets } from './http/assets.ts'
import { createEtag, hashFolders } from './http/response.ts'
import { LogRateLimiter } from './observability/log-rate-limiter.ts'
import type { Logger } from './observability/logger.ts'
import { type Memories, createMemories } from './caches.ts'
import { type Metrics, createMetrics } from './observability/metrics.ts'
import { BUILT_FOLDER, VIEWS_FOLDER, WIDGETS_FOLDER, findFileId } from './lib/paths.ts'
import { type StoreFailure, createStoreHealth, logHealed } from './storage/store-health.ts'
import { type Renderer, createRenderer } from './widgets/render.ts'
import { type Widgets, createWidgets } from './widgets/widgets.ts'

/** What the demonstration needs of the sample data; `null` with a real catalog. */
export type Demo = Readonly<{
  findPicture(name: string): string | undefined
  findListing(pageUrl: string): DemoListing | undefined
  /** The box that the studio shows first. */
  showcase: Readonly<{ channelId: string; gtin: string }>
  /** Does the embedded catalog hold nothing but sample data now, nothing at all, or something of its operator's? */
  readContent(): Promise<'sample' | 'empty' | 'own'>
}>

/** A product page of a fictional shop. */
export type DemoListing = Readonly<{
  shop: string
  title: string
  price: string
  currency: string
  pictureUrl: string | null
}>

/** Every long-lived part of the widget server, made once and disposed of together. */
export type Context = Readonly<{
  config: Config
  secrets: Secrets
  clock: Clock
  logger: Logger
  /** For lines about answers; bugs have their own, so that a flood of mistakes hides none. */
  lines: Readonly<{ answers: LogRateLimiter; bugs: LogRateLimiter }>
  metrics: Metrics
  adminLimiter: AdminLimiter
  /** How the outside reaches this server, without a slash at its end. */
  publicUrl: string
  ownOrigin: string
  /** Changes with everything that bodies depend on beside their data and addresses: part of every validator. */
  version: string
  renderer: Renderer
  assets: Assets
  key: KeySource
  gate: CallGate
  store: CopyStore
  findStoreFailure(): StoreFailure | null
  clocks: ClockWatch
  channels: ChannelSource
  widgets: Widgets
  memories: Memories
  walks: Walks
  demo: Demo | null
  /** See `ContextDetails`. */
  worker?: number | undefined
  /** Resolves when the stored copy has what was looked up. */
  settle(): Promise<void>
  dispose(): Promise<void>
}>

/** Which catalog is called: its address, its key, and the name under which its copy is stored. */
export type CatalogPlace = Readonly<{ baseUrl: string; key: KeySource; identity: string }>

/** What a context is made of. */
export type ContextDetails = Readonly<{
  config: Config
  secrets: Secrets
  clock: Clock
  logger: Logger
  publicUrl: string
  catalog: CatalogPlace
  demo: Demo | null
  /** `null`: another process makes the walks. */
  walkRunner: WalkRunner | null
  /** How long reads of a SQLite copy are made; by default on the thread that answers. */
  openLongReads?: OpenLongReads
  /** Number of this process among those that answer; `undefined` where it is the only one. */
  worker?: number | undefined
}>

/**
 * Builds the long-lived parts; nothing listens and nothing is called yet.
 * @throws StoreNewerError when the stored copy was made by a newer version. One that cannot be opened at all is reported,
 * and tried again.
 */
export async function createContext(details: ContextDetails): Promise<Context> {
  const { config, clock, logger, publicUrl, catalog } = details
  const metrics = createMetrics()
  const ownOrigin = new URL(publicUrl).origin
  const made: { walks?: Walks } = {}
  const whenHealed = (): void => void made.walks?.ensureCopied()
  const { storeHealth, ...guarded } = await openGuardedStore(details, metrics, whenHealed)
  const client = createClient(details, { ...guarded, metrics, ownOrigin })
  const memories = createMemories(config, clock)
  const parts = { ...guarded, config, clock, client, memories, onStoreFailure: storeHealth.note }
  const sources = createSources({ ...parts, onDrops: metrics.countDrops })
  const walks = (made.walks = new Walks({ ...details, ...guarded, metrics, ownOrigin }))
  const assets = loadAssets(BUILT_FOLDER)
  const stylePath = assets.get('vitrine.css').path
  const widgets = createWidgets({ ...sources, clock, config, publicUrl, stylePath })
  return {
    config,
    secrets: details.secrets,
    clock,
    logger,
    lines: { answers: new LogRateLimiter(clock), bugs: new LogRateLimiter(clock) },
    metrics,
    adminLimiter: createAdminLimiter(clock),
    publicUrl,
    ownOrigin,
    version: computeVersion({ config, publicUrl, assets }),
    renderer: createRenderer(),
    assets,
    key: catalog.key,
    ...guarded,
    findStoreFailure: storeHealth.last,
    channels: sources.channels,
    widgets,
    memories,
    walks,
    demo: details.demo,
    worker: details.worker,
    settle: sources.settle,
    async dispose() {
      guarded.clocks.stop()
      await walks.stop()
      await client.close()
      await sources.stop()
      await guarded.store.close()
    },
  }
}

/** Everything that a body depends on beside its data and its address: templates, code, words, assets and settings. */
function computeVersion({
  config,
  publicUrl,
  assets,
}: Readonly<{ config: Config; publicUrl: string; assets: Assets }>): string {
  const { locale, currency, disclosure } = config
  const paths = [assets.get('vitrine.css').path, assets.get('frame.js').path]
  const settings = JSON.stringify({ publicUrl, locale, currency, disclosure, paths })
  return createEtag(`${hashFolders([VIEWS_FOLDER, WIDGETS_FOLDER])} ${settings}`)
}

function createClient(
  { config, catalog, clock, logger }: ContextDetails,
  parts: Readonly<{ gate: CallGate; clocks: ClockWatch; metrics: Metrics; ownOrigin: string }>,
): CatalogClient {
  const noteCall = createCatalogHealth({ clock, logger, limitedUntilMs: parts.gate.limitedUntilMs })
  return createCatalogClient({
    baseUrl: catalog.baseUrl,
    key: catalog.key,
    timeoutMs: config.catalogTimeoutMs,
    maxBytes: config.catalogMaxBytes,
    ownOrigin: parts.ownOrigin,
    clock,
    gate: parts.gate,
    onClockDifference: (differenceMs) => parts.clocks.note('catalog', differenceMs),
    onCall(call) {
      parts.metrics.countCall(call)
      noteCall(call)
    },
  })
}

type GuardedStore = Readonly<{
  store: CopyStore
  gate: CallGate
  clocks: ClockWatch
  storeHealth: ReturnType<typeof createStoreHealth>
}>

/** The stored copy, and the gate of calls that keeps its counts there. */
async function openGuardedStore(
  details: ContextDetails,
  metrics: Metrics,
  whenHealed: () => void,
): Promise<GuardedStore> {
  const { config, catalog, clock, logger } = details
  const storeHealth = createStoreHealth({ clock, logger, metrics })
  const open = (timeouts: BusyTimeouts): Promise<CopyStore> =>
    openSqlStore({
      database: config.database,
      catalog: catalog.identity,
      clock,
      timeouts,
      ...(details.openLongReads && { openLongReads: details.openLongReads }),
    })
  const { database } = config
  const engine =
    database.kind === 'postgres'
      ? { visitorTimeoutMs: config.freshness.visitorTimeoutMs }
      : { clock, identify: () => findFileId(database.path) }
  const store = await openReconnectingStore({
    ...engine,
    open,
    onFailure: storeHealth.note,
    onHealed() {
      void logHealed(logger, store)
      whenHealed()
    },
    onReadOnly: storeHealth.noteReadOnly,
    onWritable: storeHealth.noteWritable,
  })
  const gate = createCallGate({
    clock,
    unknownLookupsPerHour: config.freshness.unknownLookupsPerHour,
    dailyLimit: config.catalogDailyLimit,
    store,
    isShared: database.kind === 'postgres',
    onStoreFailure: storeHealth.note,
  })
  return { store, gate, clocks: createClockWatch({ clock, logger, store }), storeHealth }
}
