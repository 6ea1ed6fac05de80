import type { SourceRow } from './feed-row.ts'

type Availability = 'in_stock' | 'out_of_stock' | 'preorder' | 'backorder' | 'discontinued' | 'unknown'

const YES_VALUES: ReadonlySet<string> = new Set(['1', 'yes', 'y', 'true'])
const NO_VALUES: ReadonlySet<string> = new Set(['0', 'no', 'n', 'false'])

/** Terms of Google, Awin, Impact and schema.org, in lower case, letters only. */
const AVAILABILITY_BY_PHRASE: ReadonlyMap<string, Availability> = new Map(
  Object.entries({
    in_stock: 'instock available availablefororder limitedavailability limitedstock lowstock onlineonly',
    out_of_stock:
      'outofstock temporarilyoutofstock currentlyoutofstock notinstock nostock soldout unavailable notavailable currentlyunavailable temporarilyunavailable',
    preorder: 'preorder presale',
    backorder: 'backorder onbackorder',
    discontinued: 'discontinued',
  } satisfies Partial<Record<Availability, string>>).flatMap(([state, words]) =>
    words.split(' ').map((word) => [word, state as Availability]),
  ),
)

const MAX_CHARACTERS = 100

/** A whole number without a minus sign. */
const QUANTITY_PATTERN = /(?<![\d.,-])\d+(?:[.,]0+)?(?![\d.,]*\d)/g

/** Convert `In Stock`, `in_stock`, `https://schema.org/InStock` or a quantity (`0 in stock`); unknown terms give `unknown`. */
export function toAvailability(text: string): Availability {
  if (text.length > MAX_CHARACTERS) return 'unknown'
  const quantities: string[] = []
  const phrase = text
    .trim()
    .replace(/^(?:https?:\/\/(?:www\.)?schema\.org\/|schema:)/i, '')
    .replace(QUANTITY_PATTERN, (quantity) => {
      quantities.push(quantity)
      return ''
    })
    .replace(/[\s_.,:;!()+]+|-(?!\d)/g, '')
    .toLowerCase()
  const stated = findAvailability(phrase)
  const [quantity, ...others] = quantities
  if (quantity === undefined) return stated ?? 'unknown'
  // A quantity overrides "in stock" but no other statement.
  if (others.length > 0 || (phrase !== '' && stated !== 'in_stock')) return stated ?? 'unknown'
  return /[1-9]/.test(quantity) ? 'in_stock' : 'out_of_stock'
}

function findAvailability(phrase: string): Availability | undefined {
  const isInStock = toYesOrNo(phrase)
  if (isInStock === undefined) return AVAILABILITY_BY_PHRASE.get(phrase)
  return isInStock ? 'in_stock' : 'out_of_stock'
}

/** Parse a boolean such as `1`, `yes` or `false`; `undefined` for anything else. */
export function toYesOrNo(text: string): boolean | undefined {
  const word = text.trim().toLowerCase()
  return YES_VALUES.has(word) ? true : NO_VALUES.has(word) ? false : undefined
}

/** Read the columns of Awin. Booleans take precedence over terms, and terms over quantities. */
export function toAwinAvailability(row: SourceRow): Availability {
  if (toYesOrNo(row.read('pre_order')) === true) return 'preorder'
  const inStock = row.read('in_stock')
  const isInStock = toYesOrNo(inStock)
  if (isInStock !== undefined) return isInStock ? 'in_stock' : 'out_of_stock'
  for (const text of [inStock, row.read('stock_status')]) {
    const availability = toAvailability(text)
    if (availability !== 'unknown') return availability
  }
  const quantity = row.read('stock_quantity')
  if (!/^\d+(?:\.0+)?$/.test(quantity)) return 'unknown'
  return /[1-9]/.test(quantity) ? 'in_stock' : 'out_of_stock'
}
