import type { StoredEvent } from '../storage/events.ts'

/** Entries of the feed. */
export const MAX_ATOM_ENTRIES = 200

/** Times of a feed without entries: RFC 4287 requires one. */
const NO_TIME = '1970-01-01T00:00:00.000Z'

/** What the template of the Atom feed renders. Newest first. */
export type AtomView = ReturnType<typeof toAtomView>

/** Build the view of the Atom feed. `publicUrl`: without a trailing slash. */
export function toAtomView(publicUrl: string, events: readonly StoredEvent[]) {
  const [newest] = events
  return {
    url: `${publicUrl}/events.atom`,
    studioUrl: `${publicUrl}/studio`,
    updated: newest === undefined ? NO_TIME : new Date(newest.atMs).toISOString(),
    entries: events.map((event) => ({
      id: `urn:uuid:${event.id}`,
      type: event.details.type,
      title: describeTitle(event),
      updated: new Date(event.atMs).toISOString(),
      url: toStudioUrl(publicUrl, event),
      text: describeText(event),
    })),
  }
}

function toStudioUrl(publicUrl: string, { channel, details }: StoredEvent): string {
  const query = new URLSearchParams()
  if (details.type === 'feed.stale') query.set('tab', 'feeds')
  else if (channel !== null) query.set('channel', channel.id)
  if ('gtin' in details) query.set('gtin', details.gtin)
  else if (details.type === 'shop.gone') query.set('tab', 'coverage')
  return `${publicUrl}/studio?${query.toString()}`
}

function describeTitle({ channel, details }: StoredEvent): string {
  const suffix = channel === null ? '' : ` (${channel.name})`
  return describeChange(details) + suffix
}

function describeChange(details: StoredEvent['details']): string {
  if (details.type === 'shop.gone') return `${details.name} has no offers any more`
  if (details.type === 'feed.stale') return `The feed ${details.feed} brings nothing new`
  return details.type === 'product.gone'
    ? `No shop sells ${toName(details)} any more`
    : `Sold again: ${toName(details)}`
}

/** The title of a product that was never sold while it was watched is not known. */
function toName({ title, gtin }: Readonly<{ title: string; gtin: string }>): string {
  return title === '' ? gtin : title
}

function describeText({ details }: StoredEvent): string {
  if (details.type === 'shop.gone') return `The last walk found no offer of the shop ${details.merchant}.`
  if (details.type === 'feed.stale') {
    const { fetchedAtMs } = details
    const last = fetchedAtMs === null ? 'never' : new Date(fetchedAtMs).toISOString()
    return `No successful run for two intervals; last success: ${last}.`
  }
  const { gtin, placements, morePlacements } = details
  if (placements.length === 0) return `GTIN ${gtin}.`
  const more = morePlacements === 0 ? '' : `, and ${morePlacements} more`
  return `GTIN ${gtin}. Placements: ${placements.join(', ')}${more}.`
}
