import type { Surface } from './options.ts'
import { hasEncodedOptionName } from './query.ts'
import type { Widgets } from './widgets.ts'

/** The addresses of widgets as nearly everybody writes them. */
const PLAIN = /^\/(fragment|embed)s\/([\w-]{1,100})\/(?:where-to-buy\/(\d{1,14})|deals)(?:\?([^#]{0,1000}))?$/

/** What a plain address asks for; a `gtin` of `null` asks for the grid. */
export type PlainAddress = Readonly<{
  surface: Surface
  channelId: string
  gtin: string | null
  query: string
}>

/** Reads a plain address without a router; `undefined` for every other, which may be the same widget in another spelling. */
export function readPlainAddress(address: string): PlainAddress | undefined {
  const [, surface, channelId = '', gtin = null, query = ''] = PLAIN.exec(address) ?? []
  if (hasEncodedOptionName(query)) return undefined
  return surface === 'fragment' || surface === 'embed' ? { surface, channelId, gtin, query } : undefined
}

/** The `identity` of the widget of a plain address; `undefined` for every other address and for options that are wrong. */
export function findIdentity(address: string, widgets: Pick<Widgets, 'identify'>): string | undefined {
  const plain = readPlainAddress(address)
  if (plain === undefined) return undefined
  try {
    return widgets.identify(plain)
  } catch {
    return undefined
  }
}
