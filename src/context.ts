import { type CallGate, createCallGate } from './catalog/call-gate.ts'
import { createCatalogClient } from './catalog/client.ts'
import type { KeySource } from './catalog/key-source.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config/config.ts'
import type { Secrets } from './config/secrets.ts'
import { computePeriodMs } from './copy/schedule.ts'
import { openSqlStore } from './copy/sql-store.ts'
import type { CopyEntry, CopyStore } from './copy/store.ts'
import type { WalkRunner } from './copy/walk-runner.ts'
import { type Walks, createWalks } from './copy/walks.ts'
import { type ChannelSource, createChannelSource } from './freshness/channels.ts'
import { type RememberedDeals, createDealSource } from './freshness/deals.ts'
import { createFailures } from './freshness/failures.ts'
import { type Memory, createMemory } from './freshness/memory.ts'
import { createProductSource } from './freshness/products.ts'
import { type Assets, loadAssets } from './http/assets.ts'
import type { EncodedBody } from './http/encodings.ts'
import { hashFolder } from './http/etag.ts'
import type { Logger } from './logger.ts'
import { type Metrics, createMetrics } from './metrics.ts'
import { BUILT_FOLDER, VIEWS_FOLDER } from './paths.ts'
import { type Renderer, createRenderer } from './widgets/render.ts'
import { type Widgets, createWidgets } from './widgets/widgets.ts'

/** What the demonstration needs of the sample data; `null` with a real catalog. */
export type Demo = Readonly<{
  findPicture(name: string): string | undefined
  findListing(pageUrl: string): DemoListing | undefined
  /** The box that the start page shows first. */
  showcase: Readonly<{ channelId: string; gtin: string }>
  /** Does the embedded catalog hold nothing but sample data now? */
  isSampleOnly(): Promise<boolean>
}>

/** A product page of a fictional shop. */
export type DemoListing = Readonly<{
  shop: string
  title: string
  price: string
  currency: string
  pictureUrl: string | null
}>

/** An answer that was made once: its state, its validator, and its bytes; a fragment has only the first of the three. */
export type ReadyAnswer = Readonly<{
  state: 'shown' | 'hidden'
  /** `null` for an empty fragment, which has nothing to revalidate. */
  etag: string | null
  body: EncodedBody
}>

/** Every long-lived part of the widget server, made once and disposed of together. */
export type Context = Readonly<{
  config: Config
  secrets: Secrets
  clock: Clock
  logger: Logger
  metrics: Metrics
  /** How the outside reaches this server, without a slash at its end. */
  publicUrl: string
  ownOrigin: string
  /** Changes with every template and style: part of every validator. */
  version: string
  renderer: Renderer
  assets: Assets
  key: KeySource
  gate: CallGate
  store: CopyStore
  channels: ChannelSource
  widgets: Widgets
  answers: Memory<ReadyAnswer>
  walks: Walks
  demo: Demo | null
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
  walkRunner: WalkRunner
}>

/**
 * Builds the long-lived parts; nothing listens and nothing is called yet.
 * @throws StoreError, StoreNewerError when the stored copy cannot be opened.
 */
export async function createContext(details: ContextDetails): Promise<Context> {
  const { config, clock, logger, publicUrl, catalog } = details
  const metrics = createMetrics()
  const ownOrigin = new URL(publicUrl).origin
  const gate = createCallGate({ clock, unknownLookupsPerHour: config.freshness.unknownLookupsPerHour })
  const client = createCatalogClient({
    baseUrl: catalog.baseUrl,
    key: catalog.key,
    timeoutMs: config.catalogTimeoutMs,
    maxBytes: config.catalogMaxBytes,
    ownOrigin,
    clock,
    gate,
    onCall: (call) => metrics.countCall(call),
  })
  const store = await openSqlStore({ database: config.database, catalog: catalog.identity })
  const sources = createSources({ ...details, client, gate, store, metrics })
  const walks = createWalks({ ...details, gate, store, metrics, ownOrigin })
  const assets = loadAssets(BUILT_FOLDER)
  const stylePath = assets.get('vitrine.css').path
  return {
    config,
    secrets: details.secrets,
    clock,
    logger,
    metrics,
    publicUrl,
    ownOrigin,
    version: `${hashFolder(VIEWS_FOLDER)} ${assets.get('frame.js').path}`,
    renderer: createRenderer(),
    assets,
    key: catalog.key,
    gate,
    store,
    channels: sources.channels,
    widgets: createWidgets({ ...sources, clock, config, publicUrl, stylePath }),
    answers: createMemory<ReadyAnswer>(shareBounds(config, 2)),
    walks,
    demo: details.demo,
    async dispose() {
      await walks.stop()
      await client.close()
      await store.close()
    },
  }
}

type SourceDetails = ContextDetails &
  Readonly<{
    client: ReturnType<typeof createCatalogClient>
    gate: CallGate
    store: CopyStore
    metrics: Metrics
  }>

function createSources(
  details: SourceDetails,
): Pick<Parameters<typeof createWidgets>[0], 'channels' | 'products' | 'deals'> {
  const { config, clock, client, gate, store, metrics } = details
  const shared = {
    client,
    gate,
    store,
    clock,
    config: config.freshness,
    onStoreFailure: noteStoreFailure(details),
  }
  const failures = createFailures(clock)
  const channels = createChannelSource({ ...shared, failures, served: config.channels })
  const products = createProductSource({
    ...shared,
    channels,
    failures,
    memory: createMemory<CopyEntry>(shareBounds(config, 4)),
    walkPeriodMs: computePeriodMs(config.syncCron, clock.nowMs()),
    onDrops: metrics.countDrops,
  })
  const deals = createDealSource({ ...shared, memory: createMemory<RememberedDeals>(shareBounds(config, 4)) })
  return { channels, products, deals }
}

/** The bounds of the settings hold for all caches together; each takes its share. */
function shareBounds(config: Config, parts: number): Readonly<{ maxEntries: number; maxBytes: number }> {
  return {
    maxEntries: Math.max(1, Math.floor(config.cacheMaxEntries / parts)),
    maxBytes: Math.max(1, Math.floor(config.cacheMaxBytes / parts)),
  }
}

/** A failing store is counted each time and logged when it begins, not for every visitor. */
function noteStoreFailure(details: SourceDetails): (error: unknown) => void {
  let loggedAtMs = -Infinity
  return (error) => {
    details.metrics.countStoreFailure()
    if (details.clock.nowMs() - loggedAtMs < STORE_LOG_EVERY_MS) return
    loggedAtMs = details.clock.nowMs()
    details.logger.error({ err: error }, 'the stored copy failed; memory and catalog go on serving')
  }
}

/** At most one line a minute about a failing store. */
const STORE_LOG_EVERY_MS = 60_000
