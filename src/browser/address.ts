/** Read an option of a widget by its name, its kind by the name `vitrine`, or its server; `null`: absent. */
export type ReadAttribute = (name: string) => string | null

/** Options that become query parameters; other attributes of a widget belong to the page. */
export const OPTIONS =
  'theme accent locale currency stock merchant exclude head heading sub layout limit history else label page sort evidence min_discount max_price brand q'.split(
    ' ',
  )

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
  for (const name of OPTIONS) {
    for (const value of readOption(read, name)) address.searchParams.append(name, value)
  }
  // As the source of a frame, `javascript:` would run in the page.
  return /^https?:/.test(address.href) ? address.href : undefined
}

function readProducts(kind: string, read: ReadAttribute): string | undefined {
  const products = kind === 'where-to-buy' ? read('gtin') : kind === 'picks' ? read('gtins') : null
  return products?.replace(/\s/g, '')
}

/** Empty for an absent or empty attribute; several values only for repeatable options. */
function readOption(read: ReadAttribute, name: string): string[] {
  const text = read(name) ?? read(name.replace('_', '-')) ?? ''
  const isList = name === 'merchant' || name === 'exclude' || name === 'label'
  const values = isList ? text.split('|') : [name === 'else' ? text.replace(/\s/g, '') : text]
  // Labels are for the products in their order, so an empty one keeps its position.
  return values.map((value) => value.trim()).filter((value) => value || (name === 'label' && text))
}
