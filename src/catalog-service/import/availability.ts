/** What the contract calls the states of an offer's stock. */
export type Availability = 'in_stock' | 'out_of_stock' | 'preorder' | 'backorder' | 'discontinued' | 'unknown'

/** Words for yes and no, in lower case. */
const YES_OR_NO: ReadonlyMap<string, boolean> = new Map([
  ['1', true],
  ['yes', true],
  ['y', true],
  ['true', true],
  ['0', false],
  ['no', false],
  ['n', false],
  ['false', false],
])

/** Words of Google, Awin, Impact and schema.org, in lower case, letters only. */
const WORDS: ReadonlyMap<string, Availability> = new Map([
  ['instock', 'in_stock'],
  ['available', 'in_stock'],
  ['availablefororder', 'in_stock'],
  ['limitedavailability', 'in_stock'],
  ['limitedstock', 'in_stock'],
  ['lowstock', 'in_stock'],
  ['onlineonly', 'in_stock'],
  ['outofstock', 'out_of_stock'],
  ['temporarilyoutofstock', 'out_of_stock'],
  ['currentlyoutofstock', 'out_of_stock'],
  ['notinstock', 'out_of_stock'],
  ['nostock', 'out_of_stock'],
  ['soldout', 'out_of_stock'],
  ['unavailable', 'out_of_stock'],
  ['notavailable', 'out_of_stock'],
  ['currentlyunavailable', 'out_of_stock'],
  ['temporarilyunavailable', 'out_of_stock'],
  ['preorder', 'preorder'],
  ['presale', 'preorder'],
  ['backorder', 'backorder'],
  ['onbackorder', 'backorder'],
  ['discontinued', 'discontinued'],
])

/** Longest text that can be one of these words. */
const MAX_CHARACTERS = 100

/** A whole number; a minus before it says something else. */
const QUANTITY = /(?<![\d.,-])\d+(?:[.,]0+)?(?![\d.,]*\d)/g

/**
 * `In Stock`, `in_stock` and `https://schema.org/InStock` alike; a number is how many there are (`0 in stock`), and 1 and 0
 * are yes and no as well. `unknown` for words that say nothing of stock, and next to words that are not known.
 */
export function toAvailability(text: string): Availability {
  if (text.length > MAX_CHARACTERS) return 'unknown'
  const quantities: string[] = []
  const words = text
    .trim()
    .replace(/^(?:https?:\/\/(?:www\.)?schema\.org\/|schema:)/i, '')
    .replace(QUANTITY, (quantity) => {
      quantities.push(quantity)
      return ''
    })
    .replace(/[\s_.,:;!()+]+|-(?!\d)/g, '')
    .toLowerCase()
  const said = readWord(words)
  const [quantity, ...others] = quantities
  if (quantity === undefined) return said ?? 'unknown'
  // How many there are says more than that there are some, and nothing beside "out of stock".
  if (others.length > 0 || (words !== '' && said !== 'in_stock')) return said ?? 'unknown'
  return /[1-9]/.test(quantity) ? 'in_stock' : 'out_of_stock'
}

function readWord(word: string): Availability | undefined {
  const isThere = toYesOrNo(word)
  if (isThere === undefined) return WORDS.get(word)
  return isThere ? 'in_stock' : 'out_of_stock'
}

/** `1`, `yes` and `true` alike; `undefined` for anything but a yes or a no. */
export function toYesOrNo(text: string): boolean | undefined {
  return YES_OR_NO.get(text.trim().toLowerCase())
}
