import { hash } from 'node:crypto'
import type { Channel } from '../catalog/contract.ts'
import { foldCase } from '../offers/text.ts'
import type { WidgetAddress } from './address.ts'
import { getLocalization } from './locales/index.ts'
import type { GridOptions } from './options.ts'
import { getDefaultHeading } from './view-parts.ts'
import type { DealView, GridView } from './grid.ts'

export type DealsFeedView = ReturnType<typeof toDealsFeedView>

/** `asOfMs`: time of the data, Unix milliseconds. */
type FeedOptions = Readonly<{
  address: Pick<WidgetAddress, 'path'> & Readonly<{ options: Pick<GridOptions, 'locale' | 'heading'> }>
  channel: Pick<Channel, 'id' | 'name' | 'url'>
  asOfMs: number
  publicUrl: string
}>

/** Build the view of a feed of deals. `grid`: `undefined` without deals. */
export function toDealsFeedView(
  grid: GridView | undefined,
  { address, channel, asOfMs, publicUrl }: FeedOptions,
) {
  const localization = getLocalization(address.options.locale)
  const heading = address.options.heading ?? getDefaultHeading('deals', localization)
  const entries = (grid?.deals ?? []).map((deal) => toEntry(deal, channel.id))
  const times = entries.map(({ updated }) => updated).sort()
  return {
    lang: localization.lang,
    url: `${publicUrl}/feeds/${address.path.replace('/deals', '/deals.atom')}`,
    siteUrl: channel.url,
    siteName: channel.name,
    title: `${heading} – ${channel.name}`,
    updated: times.at(-1) ?? new Date(asOfMs).toISOString(),
    disclosure: grid?.header.disclosure ?? null,
    checkedAt: grid?.notices.checkedAt ?? null,
    entries,
  }
}

function toEntry(deal: DealView, channelId: string) {
  return {
    /** The same for all networks and spellings of a shop. */
    id: `urn:uuid:${toUuid(`${channelId} ${deal.gtin} ${foldCase(deal.countedMerchant)}`)}`,
    /** Without the price, which readers of feeds keep. */
    title: `${deal.title} – ${deal.merchant}`,
    updated: deal.firstSeen,
    deal,
  }
}

/** Derive a UUID of version 8 (RFC 9562) from a text. */
function toUuid(text: string): string {
  const hex = hash('sha256', text)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
