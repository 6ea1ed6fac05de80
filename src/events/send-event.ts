import { createHmac } from 'node:crypto'
import { type Clock, SECOND_MS } from '../clock.ts'
import type { Secret, Proxies, WebhookSecrets } from '../config/secrets.ts'
import {
  describeConnectionFailure,
  findConnectionCode,
  isServerTimeout,
} from '../outgoing/connection-failures.ts'
import { createDispatcher, sendRequest } from '../outgoing/dispatcher.ts'
import { discardBody, withDeadline } from '../outgoing/fetch.ts'
import type { StoredEvent } from '../storage/events.ts'

/** Version of the body. It grows when a field changes its meaning or goes; new fields do not change it. */
const BODY_VERSION = 1

/** What a receiver gets of an event. `ping` is sent by `vitrine check` and is not stored. */
export type EventMessage = Readonly<{ id: string; body: string }>

/** Build the JSON body of an event (docs/operate/events.md). */
export function toEventMessage({ id, atMs, channel, details }: StoredEvent): EventMessage {
  return toMessage({ id, type: details.type, atMs }, { channel, ...toSubject(details) })
}

export function createPing(id: string, atMs: number): EventMessage {
  return toMessage({ id, type: 'ping', atMs }, {})
}

function toMessage(
  { id, type, atMs }: Readonly<{ id: string; type: string; atMs: number }>,
  subject: Readonly<Record<string, unknown>>,
): EventMessage {
  const head = { version: BODY_VERSION, id, type, at: new Date(atMs).toISOString() }
  return { id, body: JSON.stringify(Object.assign(head, subject)) }
}

function toSubject(details: StoredEvent['details']): Readonly<Record<string, unknown>> {
  if (details.type === 'shop.gone') return { shop: { merchant: details.merchant, name: details.name } }
  if (details.type === 'feed.stale') {
    const { feed: name, fetchedAtMs } = details
    return { feed: { name, fetchedAt: fetchedAtMs === null ? null : new Date(fetchedAtMs).toISOString() } }
  }
  const { gtin, title, placements, morePlacements } = details
  return { product: { gtin, title, placements, morePlacements } }
}

/** Return the signature of a body that is sent at a time in Unix seconds: HMAC-SHA-256, hex. */
export function signBody(secret: Secret, timestampSeconds: number, body: string): string {
  return createHmac('sha256', secret.reveal()).update(`${timestampSeconds}.${body}`).digest('hex')
}

/** One deadline for connection, request and response. */
export const SEND_TIMEOUT_MS: number = 10 * SECOND_MS

export type EventSender = Readonly<{
  /**
   * Send an event to the webhook. Return why it failed, without the address; `null` when the response was 2xx. Redirects are
   * not followed, because the receiver's address is what the operator has set.
   */
  send(message: EventMessage): Promise<string | null>
  /** Close all connections; a send in progress fails at once. */
  close(): Promise<void>
}>

/** Create the only component that connects to the webhook. */
export function createEventSender(
  { url, secret }: WebhookSecrets,
  proxies: Proxies,
  clock: Clock,
): EventSender {
  const agent = createDispatcher(proxies, {
    connections: 1,
    headersTimeout: SEND_TIMEOUT_MS,
    bodyTimeout: SEND_TIMEOUT_MS,
    connect: { timeout: SEND_TIMEOUT_MS },
  })
  const { origin, pathname, search } = new URL(url.reveal())
  const post = async ({ id, body }: EventMessage, signal: AbortSignal): Promise<string | null> => {
    const timestampSeconds = Math.floor(clock.nowMs() / SECOND_MS)
    const response = await sendRequest(agent, {
      origin,
      path: pathname + search,
      method: 'POST',
      signal,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'vitrine',
        'vitrine-event-id': id,
        'vitrine-timestamp': String(timestampSeconds),
        'vitrine-signature': `sha256=${signBody(secret, timestampSeconds, body)}`,
      },
      body,
    })
    discardBody(response)
    const { statusCode } = response
    if (statusCode >= 200 && statusCode < 300) return null
    return statusCode >= 300 && statusCode < 400 ? `redirect (status ${statusCode})` : `status ${statusCode}`
  }
  return {
    send: (message) =>
      withDeadline({ clock, timeoutMs: SEND_TIMEOUT_MS }, (signal) => post(message, signal)).catch(
        describeFailure,
      ),
    close: () => agent.destroy(),
  }
}

/** The message of an error can have the address. */
function describeFailure(error: unknown): string {
  const code = findConnectionCode(error)
  if (isServerTimeout(code)) return 'no response in time'
  return describeConnectionFailure(code) ?? 'unreachable'
}
