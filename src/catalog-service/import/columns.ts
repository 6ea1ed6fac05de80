import { toColumnName } from './source-row.ts'

/** What stands between the cells of a table. */
export type Delimiter = ',' | ';' | '|' | '\t'

/** The first line of a table, as far as can be told. */
export type TableHead = Readonly<{ delimiter: Delimiter; names: readonly string[] }>

const DELIMITERS: readonly Delimiter[] = [',', ';', '|', '\t']

/** Names that tell an Awin table from others. */
const AWIN: ReadonlySet<string> = new Set([
  'aw_deep_link',
  'aw_product_id',
  'search_price',
  'store_price',
  'merchant_deep_link',
  'merchant_product_id',
  'deep_link',
  'product_url',
  'product_name',
])

/** Names of the product data specification, one of which alone says nothing. */
const GOOGLE: ReadonlySet<string> = new Set([
  'id',
  'title',
  'description',
  'link',
  'image_link',
  'price',
  'sale_price',
  'availability',
  'gtin',
  'brand',
  'mpn',
  'condition',
])

/** Names that a table needs, so that it is taken for one of a kind. */
const ENOUGH_NAMES = 2

/** Splits a header by each delimiter, and takes the one that finds the most known names, and then the most names. */
export function readTableHead(text: string): TableHead {
  const line = /^\s*(?:"?sep=.?"?[ \t]*[\r\n]+)?\s*([^\r\n]*)/i.exec(text)?.[1] ?? ''
  let best: TableHead = { delimiter: ',', names: [] }
  let bestScore = -1
  for (const delimiter of DELIMITERS) {
    const names = line.split(delimiter).map((cell) => toColumnName(cell.replace(/^\s*"|"\s*$/g, '')))
    const known = names.filter((name) => AWIN.has(name) || GOOGLE.has(name)).length
    const score = known * line.length + names.length
    if (score > bestScore) best = { delimiter, names }
    bestScore = Math.max(score, bestScore)
  }
  return best
}

/** Whose table it is, by the names of its columns. */
export function findTableKind(names: readonly string[]): 'awin' | 'google' | undefined {
  const awin = names.filter((name) => AWIN.has(name)).length
  const google = names.filter((name) => GOOGLE.has(name)).length
  if (awin > 0 && awin + google >= ENOUGH_NAMES) return 'awin'
  return google >= ENOUGH_NAMES ? 'google' : undefined
}
