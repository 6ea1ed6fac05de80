/** Read an option of a widget by its name, or its kind by the name `vitrine`; `null`: absent. */
export type ReadAttribute = (name: string) => string | null

/** Options that become query parameters; other attributes of a widget belong to the page. */
export const OPTIONS =
  'theme accent locale currency stock merchant exclude head heading sub layout limit history else label page sort evidence min_discount max_price brand q'.split(
    ' ',
  )

/**
 * Return the address of a widget in a folder of the server, which ends in a slash; `undefined` if channel or products are
 * missing. @throws TypeError, URIError for an invalid folder or half a surrogate pair in an attribute
 */
export function toAddress(folder: string, read: ReadAttribute): string | undefined {
  const gtinAttributes = new Map([
    ['where-to-buy', 'gtin'],
    ['picks', 'gtins'],
  ])
  const kind = read('vitrine') ?? ''
  const channel = read('channel')
  const products = read(gtinAttributes.get(kind) ?? '')?.replace(/\s/g, '')
  if (!channel || !(products || kind === 'deals')) return undefined
  const parts = products ? [channel, kind, products] : [channel, kind]
  // The commas of a list stay readable, as in the normalized address of the server.
  const path = parts.map(encodeURIComponent).join('/').replace(/%2C/g, ',')
  const address = new URL(path, folder)
  for (const name of OPTIONS) {
    for (const value of readOption(read, name)) address.searchParams.append(name, value)
  }
  return address.href
}

/** Empty for an absent or empty attribute; several values only for repeatable options. */
function readOption(read: ReadAttribute, name: string): string[] {
  const text = read(name) ?? read(name.replace('_', '-')) ?? ''
  const isList = name === 'merchant' || name === 'exclude' || name === 'label'
  const values = isList ? text.split('|') : [name === 'else' ? text.replace(/\s/g, '') : text]
  // Labels are for the products in their order, so an empty one keeps its position.
  return values.map((value) => value.trim()).filter((value) => value || (name === 'label' && text))
}
