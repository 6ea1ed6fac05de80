import { type ReadAttribute, toAddress } from '../../../src/browser/address.ts'

/** Kinds of widgets, as in their addresses, by element name. */
export const KINDS = {
  'where-to-buy': 'where-to-buy',
  'round-up': 'picks',
  'deal-grid': 'deals',
} as const

export type ElementName = keyof typeof KINDS

/**
 * Return the address of a widget on the server of its attribute `server`; `undefined` if an attribute is missing, or the server
 * is not http: or https:. @throws TypeError, URIError for an invalid server or half a surrogate pair in an attribute
 */
export function toServerAddress(surface: 'embeds' | 'fragments', read: ReadAttribute): string | undefined {
  const server = read('server')
  const address = server ? toAddress(server.replace(/\/?$/, `/${surface}/`), read) : ''
  // As the source of a frame, `javascript:` runs in the page.
  return address && /^https?:/.test(address) ? address : undefined
}
