import type { DealCounts, DealFacet } from '../storage/store.ts'
import { formatCount } from '../widgets/format.ts'
import type { DealsPanelView, FacetView } from './views.ts'

/** Entries of one filter that the page prints. */
const MAX_ENTRIES = 12

/** The key under which the page has the count of a filter's value. */
export function toCountKey(name: string, value: string): string {
  return `count ${name} ${value}`
}

/** A count in words: "at least" where not everything was counted. */
export function formatDeals(count: number, { isBounded }: Pick<DealCounts, 'isBounded'>): string {
  return `${formatCount(count, 'en')}${isBounded ? '+' : ''}`
}

/** Counts as filters: each entry leads to the choice that has it, a chosen one to the choice without. */
export function toDealsPanel(
  counts: DealCounts,
  typed: URLSearchParams,
  toHref: (typed: URLSearchParams) => string,
): DealsPanelView {
  const count = (value: number): string => formatDeals(value, counts)
  const toFacet = (title: string, name: string, entries: readonly Entry[]): FacetView => ({
    title,
    entries: entries.slice(0, MAX_ENTRIES).map((entry) => {
      const isChosen = typed.getAll(name).some((value) => value.toLowerCase() === entry.value.toLowerCase())
      return {
        key: toCountKey(name, entry.value),
        text: entry.text,
        count: count(entry.count),
        href: toHref(isChosen ? withoutValue(typed, name, entry.value) : withValue(typed, name, entry.value)),
        isChosen,
      }
    }),
  })
  const discounts = counts.discounts.map(({ minPercent, count: value }) => ({
    value: String(minPercent),
    text: `${minPercent} % or more`,
    count: value,
  }))
  return {
    total: count(counts.total),
    facets: [
      toFacet('Discount', 'min_discount', discounts),
      toFacet('Brand', 'brand', toEntries(counts.brands.filter(({ name }) => name !== ''))),
      toFacet('Shop', 'merchant', toEntries(counts.merchants)),
    ].filter(({ entries }) => entries.length > 0),
  }
}

type Entry = Readonly<{ value: string; text: string; count: number }>

function toEntries(facets: readonly DealFacet[]): readonly Entry[] {
  return facets.map(({ name, count }) => ({ value: name, text: name, count }))
}

/** The choice with this value of a filter instead of others. Another filter means another first page. */
function withValue(typed: URLSearchParams, name: string, value: string): URLSearchParams {
  return new URLSearchParams(
    [...typed].filter(([other]) => other !== name && other !== 'page').concat([[name, value]]),
  )
}

/** The choice without this value of a filter; others of the same filter stay. */
function withoutValue(typed: URLSearchParams, name: string, value: string): URLSearchParams {
  const isIt = (other: string, text: string): boolean =>
    other === name && text.toLowerCase() === value.toLowerCase()
  return new URLSearchParams([...typed].filter(([other, text]) => other !== 'page' && !isIt(other, text)))
}
