import { type Clock, SECOND_MS, MINUTE_MS } from '../clock.ts'
import type { Proxies, WebhookSecrets } from '../config/secrets.ts'
import { createLeaseOwner } from '../database/leases.ts'
import { computeBackoffMs } from '../lib/backoff.ts'
import { tryWithTimeout } from '../lib/with-timeout.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { type EventStore, type LeasedEvent, MAX_RETRY_WAIT_MS } from '../storage/events.ts'
import { toEventMessage, type EventSender, createEventSender } from './send-event.ts'

/** How often the store is asked for events, which another process may have added. */
const POLL_MS: number = 15 * SECOND_MS

/** Longer than an attempt can take. */
const LEASE_MS: number = MINUTE_MS

/** How long a stop waits for the store. */
const STOP_TIMEOUT_MS: number = SECOND_MS

/** Waits after failed attempts. */
const RETRY_WAITS = { initialMs: POLL_MS, maxMs: MAX_RETRY_WAIT_MS } as const

/** Sends the stored events to the webhook, in order, one process at a time. */
export type Webhook = Readonly<{
  start(): void
  /** Look for new events now. */
  notify(): void
  /** Abort the attempt in progress; its event is sent again later. */
  stop(): Promise<void>
}>

export type WebhookOptions = Readonly<{
  webhook: WebhookSecrets
  proxies: Proxies
  store: EventStore
  clock: Clock
  logger: Logger
  metrics: Pick<Metrics, 'countDelivery'>
}>

export function createWebhook(options: WebhookOptions): Webhook {
  const { store, clock } = options
  const sender = createEventSender(options.webhook, options.proxies, clock)
  const owner = createLeaseOwner()
  const stopping = new AbortController()
  let waiting = new AbortController()
  let running: Promise<void> | undefined
  const runUntilStopped = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      waiting = new AbortController()
      const { signal } = waiting
      // A store that fails is reported by the store's own health.
      const leased = await store.leaseEvent({ owner, forMs: LEASE_MS }).catch(() => undefined)
      const isDelivered =
        leased !== undefined && (await deliver(options, { sender, owner, leased, stopping }))
      if (!isDelivered) await clock.wait(POLL_MS, signal)
    }
  }
  return {
    start: () => void (running ??= runUntilStopped()),
    notify: () => waiting.abort(),
    async stop() {
      stopping.abort()
      waiting.abort()
      await sender.close()
      if (running !== undefined) await tryWithTimeout(clock, STOP_TIMEOUT_MS, running)
    },
  }
}

type Attempt = Readonly<{
  sender: EventSender
  owner: string
  leased: LeasedEvent
  stopping: AbortController
}>

/** Send an event and record the result. Return whether the next event may follow at once. */
async function deliver(
  { store, clock, logger, metrics }: WebhookOptions,
  { sender, owner, leased, stopping }: Attempt,
): Promise<boolean> {
  const { event, failures } = leased
  const failure = await sender.send(toEventMessage(event))
  try {
    if (failure !== null && stopping.signal.aborted) await store.releaseDelivery(owner)
    else {
      metrics.countDelivery(failure === null ? 'ok' : 'failed')
      const fields = { event: event.id, type: event.details.type, failures, reason: failure }
      if (failure === null) logger.info(fields, 'event delivered')
      else logger.warn(fields, 'event not delivered; the webhook is tried again')
      const nextAttemptMs = clock.nowMs() + computeBackoffMs(RETRY_WAITS, failures)
      await store.recordDelivery({ owner, id: event.id, failure, nextAttemptMs })
    }
  } catch (error) {
    // The lease expires, and the event is sent again with the same id.
    logger.warn({ err: error }, 'result of an event delivery not stored')
    return false
  }
  return failure === null
}
