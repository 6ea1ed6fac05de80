import type { Widgets } from './widgets.ts'

/** The addresses of widgets as nearly everybody writes them. */
const PLAIN = /^\/(fragment|embed)s\/([\w-]{1,100})\/(?:where-to-buy\/(\d{1,14})|deals)(?:\?([^#]{0,1000}))?$/

/**
 * Reads a plain address without a router: the `identity` of its widget; `undefined` for every other address and for options
 * that are wrong, which only the router can tell apart.
 */
export function findIdentity(address: string, widgets: Pick<Widgets, 'identify'>): string | undefined {
  const [, surface, channelId = '', gtin = null, query] = PLAIN.exec(address) ?? []
  if (surface !== 'fragment' && surface !== 'embed') return undefined
  try {
    return widgets.identify({ surface, channelId, gtin, query: query ?? '' })
  } catch {
    return undefined
  }
}
