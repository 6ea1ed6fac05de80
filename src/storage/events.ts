/** The state changes that are reported (docs/operate/events.md). */
export type EventDetails =
  | Readonly<{
      type: 'product.gone' | 'product.back'
      gtin: string
      title: string
      /** Sub-ids of the placements that ask for the product, the most requested first. */
      placements: readonly string[]
      /** Placements that are not in the list. */
      morePlacements: number
    }>
  /** `merchant`: the main name in the catalog; `name`: the name that readers see. */
  | Readonly<{ type: 'shop.gone'; merchant: string; name: string }>
  /** `fetchedAtMs`: the last successful run, Unix milliseconds; `null`: none. */
  | Readonly<{ type: 'feed.stale'; feed: string; fetchedAtMs: number | null }>

/** A stored event. `id` is a UUID; `atMs` is when the change was detected; `channel` is `null` for a feed without one. */
export type StoredEvent = Readonly<{
  id: string
  atMs: number
  channel: Readonly<{ id: string; name: string }> | null
  details: EventDetails
}>

/** A feed of the embedded catalog, as `recordFeeds` compares it with the last time. */
export type ObservedFeed = Readonly<{
  name: string
  channelId: string | null
  isStale: boolean
  fetchedAtMs: number | null
}>

/** An event to send, and how many attempts in a row have failed before. */
export type LeasedEvent = Readonly<{ event: StoredEvent; failures: number }>

/** `failure`: why the attempt failed, `null` when the event was delivered. `nextAttemptMs`: Unix milliseconds. */
export type DeliveryResult = Readonly<{
  owner: string
  id: string
  failure: string | null
  nextAttemptMs: number
}>

/** `failure`: of the last attempt, `null` when it succeeded. Times are Unix milliseconds; `null`: never. */
export type DeliveryState = Readonly<{
  pendingCount: number
  deliveredAtMs: number | null
  failure: string | null
  failedAtMs: number | null
}>

/** Events and their delivery (ADR 0035). Walks add events of products and shops in `completeWalk`. */
export type EventStore = Readonly<{
  /** List the newest events first; those of one walk by importance: shops, then the most requested products. */
  listEvents(limit: number): Promise<readonly StoredEvent[]>
  /** Add an event for each feed that has become stale since the last call. The first call about a feed adds none. */
  recordFeeds(feeds: readonly ObservedFeed[], nowMs: number): Promise<void>
  /** Lease the delivery for at most `forMs`. Return the oldest event that is not delivered; `undefined`: nothing to do now. */
  leaseEvent(lease: Readonly<{ owner: string; forMs: number }>): Promise<LeasedEvent | undefined>
  /** Record the result of an attempt and release the lease. Ignored when another owner has the lease. */
  recordDelivery(result: DeliveryResult): Promise<void>
  /** Release the lease without a result. */
  releaseDelivery(owner: string): Promise<void>
  readDeliveryState(): Promise<DeliveryState>
}>
