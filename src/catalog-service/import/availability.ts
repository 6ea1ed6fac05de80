/** What the contract calls the states of an offer's stock. */
export type Availability = 'in_stock' | 'out_of_stock' | 'preorder' | 'backorder' | 'discontinued' | 'unknown'

/** Words of Google, Awin, Impact and schema.org, in lower case, letters only. */
const WORDS: ReadonlyMap<string, Availability> = new Map([
  ['instock', 'in_stock'],
  ['available', 'in_stock'],
  ['availablefororder', 'in_stock'],
  ['limitedavailability', 'in_stock'],
  ['limitedstock', 'in_stock'],
  ['lowstock', 'in_stock'],
  ['onlineonly', 'in_stock'],
  ['yes', 'in_stock'],
  ['true', 'in_stock'],
  ['outofstock', 'out_of_stock'],
  ['notinstock', 'out_of_stock'],
  ['nostock', 'out_of_stock'],
  ['soldout', 'out_of_stock'],
  ['unavailable', 'out_of_stock'],
  ['notavailable', 'out_of_stock'],
  ['no', 'out_of_stock'],
  ['false', 'out_of_stock'],
  ['preorder', 'preorder'],
  ['presale', 'preorder'],
  ['backorder', 'backorder'],
  ['onbackorder', 'backorder'],
  ['discontinued', 'discontinued'],
])

/** `In Stock`, `in_stock` and `https://schema.org/InStock` alike; `unknown` for words that say nothing of stock. */
export function toAvailability(text: string): Availability {
  const word = text
    .replace(/^https?:\/\/schema\.org\//i, '')
    .replace(/[^a-z]/gi, '')
    .toLowerCase()
  return WORDS.get(word) ?? 'unknown'
}

/** `1`, `yes` and `true` alike; `undefined` for anything but a yes or a no. */
export function toYesOrNo(text: string): boolean | undefined {
  const word = text.trim().toLowerCase()
  if (['1', 'yes', 'y', 'true'].includes(word)) return true
  return ['0', 'no', 'n', 'false'].includes(word) ? false : undefined
}
