import { type Caches, createCaches } from './caches.ts'
import { type CallPolicy, createCallPolicy } from './catalog/call-policy.ts'
import { createCatalogClient } from './catalog/client.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config/config.ts'
import type { KeySource } from './config/key-source.ts'
import type { Secrets } from './config/secrets.ts'
import { type ShopData, type ShopFile, openShopFile, readShopData } from './config/shop-file.ts'
import { type SubData, readSubData } from './config/sub-ids-file.ts'
import { type Coverage, createCoverage } from './coverage/coverage.ts'
import { type Webhook, type WebhookOptions, createWebhook } from './events/webhook.ts'
import type { ChannelSource } from './freshness/channels.ts'
import { createCopyChanges } from './freshness/copy-changes.ts'
import { createSources } from './freshness/sources.ts'
import { type AdminLimiter, createAdminLimiter } from './http/admin-limiter.ts'
import { type Assets, loadAssets } from './http/assets.ts'
import { type RenderQueue, createRenderQueue } from './http/render-queue.ts'
import { createEtag, hashFolders } from './http/response.ts'
import type { PageSources } from './http/security-headers.ts'
import { BUILT_FOLDER, OFFERS_FOLDER, VIEWS_FOLDER, WIDGETS_FOLDER } from './lib/files.ts'
import { createCatalogHealthLog } from './observability/catalog-health-log.ts'
import { type ClockMonitor, createClockMonitor } from './observability/clock-monitor.ts'
import type { FeedReport } from './catalog/feed-report.ts'
import { LogRateLimiter } from './observability/log-rate-limiter.ts'
import type { Logger } from './observability/logger.ts'
import { type Metrics, createMetrics } from './observability/metrics.ts'
import type { Tracing } from './observability/opentelemetry.ts'
import { type SubRules, createSubRules } from './offers/sub-ids.ts'
import { type PictureConverter, openPictureConverter } from './pictures/convert-picture.ts'
import { createPictureFetcher, type PictureNetwork, publicNetwork } from './pictures/fetch-picture.ts'
import { type PictureFiles, findPictureFolder, openPictureFiles } from './pictures/picture-files.ts'
import { type Pictures, type PicturesOptions, createPictures } from './pictures/pictures.ts'
import type { StoreThreads } from './storage/threads.ts'
import { openStoredCopy } from './storage/stored-copy.ts'
import {
  type StoreFailure,
  type StoreHealth,
  createStoreHealth,
  logRecovery,
} from './storage/store-health.ts'
import type { CopyStore } from './storage/store.ts'
import type { WalkRunner } from './sync/walk-runner.ts'
import { WalkSupervisor, type WalkSupervisorOptions } from './sync/walk-supervisor.ts'
import { type Renderer, createRenderer } from './widgets/render.ts'
import { type Widgets, createWidgets } from './widgets/widgets.ts'

export type Demo = Readonly<{
  /** Find the bytes of a WebP picture. */
  findPicture(name: string): Buffer | undefined
  /** Find the product that a page of a sample shop sells. */
  findDemoProduct(
    pageUrl: string,
  ):
    | Readonly<{ shop: string; title: string; price: string; currency: string; pictureUrl: string | null }>
    | undefined
  /** The first box in the studio. */
  showcase: Readonly<{ channelId: string; gtin: string }>
}> &
  EmbeddedCatalog

export type EmbeddedCatalog = Readonly<{
  /** What the embedded catalog contains: only sample data, nothing, or data that the operator imported. */
  readCatalogContent(): Promise<'sample' | 'empty' | 'own'>
  /** Return the feeds of the embedded catalog; `undefined` when it does not respond. Warnings cost more. */
  readFeeds(hasWarnings: boolean): Promise<FeedReport | undefined>
}>

/** The catalog to call: its address, its key, and the name under which its copy is stored. */
export type CatalogConnection = WalkSupervisorOptions['catalog']

export type ContextOptions = Readonly<{
  config: Config
  secrets: Secrets
  clock: Clock
  logger: Logger
  /** Public address of this server, without a trailing slash. */
  publicUrl: string
  catalog: CatalogConnection
  /** `null` with a remote catalog. */
  demo: Demo | null
  /** `null`: another process runs the walks. */
  walkRunner: WalkRunner | null
  /** Of a SQLite copy; by default the thread that serves requests does what they would do. */
  threads?: Partial<StoreThreads>
  /** How pictures are fetched and converted; replaced by tests. */
  pictureNetwork?: PictureNetwork
  openConverter?: (clock: Clock) => Promise<PictureConverter>
  /** From the primary, so that all workers have the same; otherwise read from the files. */
  shopData?: ShopData | undefined
  subData?: SubData | undefined
  /** Traces of this process; `null` or absent: off. */
  tracing?: Tracing | null
  /** Number of this worker; `undefined` when it is the only process. */
  worker?: number | undefined
}>

/** All long-lived parts of the widget server. They are created and disposed of together. */
export type Context = Omit<
  ContextOptions,
  | 'catalog'
  | 'tracing'
  | 'walkRunner'
  | 'threads'
  | 'shopData'
  | 'subData'
  | 'pictureNetwork'
  | 'openConverter'
> &
  Readonly<{
    /** Bugs have their own limiter, so that many invalid requests cannot suppress their log lines. */
    logLimiters: Readonly<{ responses: LogRateLimiter; bugs: LogRateLimiter }>
    metrics: Metrics
    adminLimiter: AdminLimiter
    ownOrigin: string
    /** For the content security policies of pages. */
    pageSources: PageSources
    /** Part of every ETag. It changes with everything that affects a body, except its data and its address. */
    version: string
    renderer: Renderer
    assets: Assets
    shopFile: ShopFile
    subData: SubData
    subRules: SubRules
    key: KeySource
    callPolicy: CallPolicy
    store: CopyStore
    findStoreFailure(): StoreFailure | null
    clockMonitor: ClockMonitor
    channels: ChannelSource
    widgets: Widgets
    /** `null` with `VITRINE_PICTURES=direct`. */
    pictures: Pictures | null
    caches: Caches
    renderQueue: RenderQueue
    walks: WalkSupervisor
    /** Counts of widgets and clicks. */
    coverage: Coverage
    /** Sends events once it is started; `null` without one. */
    webhook: Webhook | null
    /** Resolve when the results of all look-ups are stored. */
    waitForWrites(): Promise<void>
    dispose(): Promise<void>
  }>

/**
 * Create the long-lived parts. No catalog call is made yet.
 * @throws StoreVersionError if another version made the copy; ConfigError if the folder of pictures cannot be written.
 */
export async function createContext(options: ContextOptions): Promise<Context> {
  const { config, secrets, clock, logger, publicUrl, catalog, demo, worker } = options
  const ownOrigin = new URL(publicUrl).origin
  // Assets can be missing, so load them before anything is open that would have to be closed.
  const assets = loadAssets(BUILT_FOLDER)
  const shopFile = openShopFile(options.shopData ?? readShopData(config.shopsFile))
  const subData = options.subData ?? readSubData(config.subIdsFile)
  const pictureFiles = await openFilesOfPictures(config, clock)
  const renderer = createRenderer()
  const metrics = createMetrics()
  const storeHealth = createStoreHealth({ clock, logger, metrics })
  // `walks` is assigned by then: opening is retried after a second at the earliest.
  const store = await openStore(options, storeHealth, () => {
    void logRecovery(logger, store)
    void walks.ensureCopied()
  })
  const callPolicy = createPolicy(options, store, storeHealth)
  const clockMonitor = createClockMonitor({ clock, logger, store })
  const client = createMonitoredClient(options, { ownOrigin, callPolicy, clockMonitor, metrics })
  const caches = createCaches(config, clock)
  const parts = { config, clock, client, callPolicy, store, caches }
  const onStoreFailure = storeHealth.recordFailure
  const sources = createSources({ ...parts, onStoreFailure, onDrops: metrics.countDrops })
  const webhook = createEventWebhook(options, { store, metrics })
  const walkParts = { callPolicy, store, clockMonitor, metrics, ownOrigin, shopFile, webhook, onStoreFailure }
  const walks = createWalks(options, walkParts)
  const storeParts = { store, ownOrigin, metrics, onStoreFailure }
  const coverage = createCoverage({ clock, logger, ...storeParts })
  const pictures = pictureFiles && createPictureProxy(options, pictureFiles, storeParts)
  const stylePath = assets.get('vitrine.css').path
  const subRules = createSubRules(subData.networks)
  const copyChanges = createCopyChanges(store, clock)
  const widgetParts = {
    clock,
    config,
    copyChanges,
    publicUrl,
    stylePath,
    shops: shopFile.book,
    subRules,
    pictures,
  }
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
    pageSources: { ownOrigin, pictures: config.pictures },
    version: computeVersion(config, { publicUrl, assets, shopFile, subData }),
    renderer,
    assets,
    shopFile,
    subData,
    subRules,
    key: catalog.key,
    callPolicy,
    store,
    findStoreFailure: storeHealth.getLastFailure,
    clockMonitor,
    channels: sources.channels,
    widgets: createWidgets({ ...sources, ...widgetParts }),
    pictures,
    caches,
    renderQueue: createRenderQueue(clock, config.freshness.visitorTimeoutMs),
    walks,
    coverage,
    webhook,
    waitForWrites: sources.settle,
    async dispose() {
      clockMonitor.stop()
      await walks.stop()
      await webhook?.stop()
      await client.close()
      await pictures?.close()
      await sources.stop()
      await coverage.stop()
      await store.close()
    },
  }
}

/** Return `null` without a webhook. */
function createEventWebhook(
  { secrets, clock, logger }: ContextOptions,
  parts: Pick<WebhookOptions, 'store' | 'metrics'>,
): Webhook | null {
  const { webhook, proxies } = secrets
  return webhook && createWebhook({ webhook, proxies, clock, logger, ...parts })
}

type WalkParts = Pick<
  Context,
  'callPolicy' | 'store' | 'clockMonitor' | 'metrics' | 'ownOrigin' | 'shopFile' | 'webhook'
> &
  Pick<PicturesOptions, 'onStoreFailure'>

/** Create the walks. After each one, record which feeds of the embedded catalog are stale, and send the events. */
function createWalks(
  options: ContextOptions,
  { shopFile, webhook, onStoreFailure, ...parts }: WalkParts,
): WalkSupervisor {
  const { demo, clock } = options
  const recordFeeds = async (): Promise<void> => {
    const report = await demo?.readFeeds(false)
    if (report !== undefined) await parts.store.recordFeeds(report.feeds, clock.nowMs())
  }
  return new WalkSupervisor({
    ...options,
    ...parts,
    shops: shopFile.data.entries,
    async onWalkComplete() {
      await recordFeeds().catch(onStoreFailure)
      webhook?.notify()
    },
  })
}

function createPolicy({ clock, config }: ContextOptions, store: CopyStore, health: StoreHealth): CallPolicy {
  return createCallPolicy({
    clock,
    unknownLookupsPerHour: config.freshness.unknownLookupsPerHour,
    dailyLimit: config.catalogDailyLimit,
    store,
    isShared: config.database.kind === 'postgres',
    processes: config.workers,
    onStoreFailure: health.recordFailure,
  })
}

/** Create the catalog client. Its calls are counted and logged, and update the clock monitor. */
function createMonitoredClient(
  { config, secrets, clock, logger, catalog, tracing }: ContextOptions,
  parts: Pick<Context, 'ownOrigin' | 'callPolicy' | 'clockMonitor' | 'metrics'>,
) {
  const { ownOrigin, callPolicy, clockMonitor, metrics } = parts
  const logCallOutcome = createCatalogHealthLog({
    clock,
    logger,
    limitedUntilMs: callPolicy.getRateLimitedUntilMs,
  })
  return createCatalogClient({
    baseUrl: catalog.baseUrl,
    key: catalog.key,
    timeoutMs: config.catalogTimeoutMs,
    maxBytes: config.catalogMaxBytes,
    proxies: secrets.proxies,
    ownOrigin,
    clock,
    callPolicy,
    onClockSkew: (skewMs) => clockMonitor.recordSkew('catalog', skewMs),
    traceCall: tracing?.traceCall,
    onCall(call) {
      metrics.countCall(call)
      logCallOutcome(call)
    },
  })
}

/** Open the folder of pictures; `null`: pictures load from the shops. @throws ConfigError */
async function openFilesOfPictures(config: Config, clock: Clock): Promise<PictureFiles | null> {
  if (config.pictures === 'direct') return null
  const folder = findPictureFolder(config.database)
  return openPictureFiles({ folder, maxBytes: config.picturesMaxBytes, clock })
}

function createPictureProxy(
  {
    secrets,
    clock,
    logger,
    pictureNetwork = publicNetwork,
    openConverter = openPictureConverter,
  }: ContextOptions,
  files: PictureFiles,
  {
    metrics,
    ...parts
  }: Pick<PicturesOptions, 'store' | 'ownOrigin' | 'onStoreFailure'> & { metrics: Metrics },
): Pictures {
  return createPictures({
    ...parts,
    fetcher: createPictureFetcher(clock, pictureNetwork, secrets.proxies),
    files,
    clock,
    logger,
    openConverter: () => openConverter(clock),
    onFetch: metrics.countPictureFetch,
  })
}

/** Open the stored copy. `onRecovered` is called when it is available again. */
function openStore(
  options: ContextOptions,
  health: StoreHealth,
  onRecovered: () => void,
): Promise<CopyStore> {
  const { config, catalog, clock, logger, threads } = options
  const { database, freshness } = config
  return openStoredCopy({
    database,
    catalog: catalog.copyName,
    service: {
      visitorTimeoutMs: freshness.visitorTimeoutMs,
      onFailure: health.recordFailure,
      onRecovered,
      onReadOnly: health.recordReadOnly,
      onWritable: health.recordWritable,
    },
    clock,
    history: config.history,
    onMigrated: (migrations) => logger.info({ migrations }, 'stored copy migrated'),
    ...(threads && { threads }),
  })
}

/** Hash everything a body depends on, except its data and its address: templates, code, texts, assets and settings. */
function computeVersion(
  config: Config,
  { publicUrl, assets, shopFile, subData }: Pick<Context, 'publicUrl' | 'assets' | 'shopFile' | 'subData'>,
): string {
  const { locale, currency, disclosure, timeZone, pictures, links, mailNetworks } = config
  const paths = [assets.get('vitrine.css').path, assets.get('frame.js').path]
  const settings = JSON.stringify({
    publicUrl,
    locale,
    currency,
    disclosure,
    timeZone,
    pictures,
    links,
    mailNetworks,
    shops: shopFile.data.digest,
    subIds: subData.digest,
    paths,
  })
  return createEtag(`${hashFolders([VIEWS_FOLDER, WIDGETS_FOLDER, OFFERS_FOLDER])} ${settings}`)
}
