import { OPTIONS } from './option-names.ts'

/** Read an option of a widget by its name, its kind by the name `vitrine`, or its server; `null`: absent. */
export type ReadAttribute = (name: string) => string | null

/**
 * Return the address of a widget on its server; `undefined` if server, channel or products are missing, or the server is not
 * http: or https:. @throws TypeError, URIError for an invalid server or half a surrogate pair in an attribute
 */
export function toAddress(surface: 'embeds' | 'fragments', read: ReadAttribute): string | undefined {
  const server = read('server')
  const kind = read('vitrine') ?? ''
  const channel = read('channel')
  const products = readProducts(kind, read)
  if (!server || !channel || !(products || kind === 'deals')) return undefined
  const parts = products ? [channel, kind, products] : [channel, kind]
  // The commas of a list stay readable, as in the normalized address of the server.
  const path = parts.map(encodeURIComponent).join('/').replace(/%2C/g, ',')
  const address = new URL(path, server.replace(/\/?$/, `/${surface}/`))
  appendOptions(address.searchParams, read)
  // As the source of a frame, `javascript:` would run in the page.
  return /^https?:/.test(address.href) ? address.href : undefined
}

function readProducts(kind: string, read: ReadAttribute): string | undefined {
  const products = kind === 'where-to-buy' ? read('gtin') : kind === 'picks' ? read('gtins') : null
  return products?.replace(/\s/g, '')
}

function appendOptions(query: URLSearchParams, read: ReadAttribute): void {
  for (const option of OPTIONS) {
    const [name, separator] = option.split(/\b/) as [string, string?]
    const text = read(name) ?? read(name.replace('_', '-')) ?? ''
    // Without a separator, `split` returns the whole text.
    for (const part of (name === 'else' ? text.replace(/\s/g, '') : text).split(separator as string)) {
      const value = part.trim()
      // Labels are for the products in their order, so an empty one keeps its position.
      if (value || (name === 'label' && text)) query.append(name, value)
    }
  }
}
