import { createHmac } from 'node:crypto'
import type { Secret } from '../config/secrets.ts'
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
