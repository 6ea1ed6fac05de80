import type { DealCounts } from '../storage/store.ts'
import { formatCount } from '../widgets/format.ts'
import { LANGUAGE_TAGS } from '../widgets/locales/index.ts'
import {
  type OptionDefaults,
  type OptionDefinition,
  parseBoxOptions,
  parseGridOptions,
} from '../widgets/options.ts'
import { type WidgetKind, listOptions } from './selection.ts'

export type FieldDetails = Readonly<{
  kind: WidgetKind
  rawOptions: URLSearchParams
  errors: ReadonlyMap<string, string>
  defaults: OptionDefaults
  shops: readonly CountedShop[]
  currencies: readonly string[]
  brands: readonly string[]
}>

/** A shop and its number of deals; `null` if not counted. */
type CountedShop = Readonly<{ name: string; count: string | null }>

const GROUPS: readonly Readonly<{ title: string; names: readonly string[] }>[] = [
  { title: 'Appearance', names: ['layout', 'head', 'heading', 'theme', 'accent', 'locale', 'limit'] },
  { title: 'Deals', names: ['sort', 'min_discount', 'max_price', 'brand', 'q', 'page'] },
  { title: 'Offers', names: ['stock', 'currency', 'merchant', 'exclude'] },
  { title: 'Includes only', names: ['isolate', 'css', 'markup'] },
]

export function listFields(details: FieldDetails) {
  const rows = new Map(listOptions(details.kind).map((row) => [row.name, row]))
  return GROUPS.map(({ title, names }) => ({
    title,
    fields: names.flatMap((name) => {
      const row = rows.get(name)
      return row === undefined ? [] : [toField(row, details)]
    }),
  })).filter(({ fields }) => fields.length > 0)
}

export type FieldView = ReturnType<typeof toField>

function toField(row: OptionDefinition, details: FieldDetails) {
  const values = details.rawOptions.getAll(row.name)
  return {
    name: row.name,
    label: row.label,
    hint: toSentence(row.description.replaceAll('`', '')),
    error: details.errors.get(row.name)?.replace(`The parameter "${row.name}"`, `“${row.label}”`) ?? null,
    control: toControl(row, values, details),
  }
}

function toControl(row: OptionDefinition, values: readonly string[], details: FieldDetails) {
  const { control, name } = row
  const [value = ''] = values
  const defaultValue = findDefault(row, details)
  if (control === 'shops') return toCheckboxes(values, details.shops)
  if (typeof control === 'string') {
    return {
      kind: 'input',
      type: 'text',
      value,
      placeholder: defaultValue ?? PLACEHOLDERS[control],
      inputMode: control === 'price' ? 'decimal' : 'text',
      suggestions: listSuggestions(control, name, details),
    } as const
  }
  if ('min' in control) {
    const { min, max } = control
    return {
      kind: 'input',
      type: 'number',
      value,
      placeholder: defaultValue ?? '',
      min,
      max,
      suggestions: [],
    } as const
  }
  // An invalid value stays visible beside its error message.
  const optionValues = value === '' || control.includes(value) ? control : [...control, value]
  return {
    kind: 'select' as const,
    options: optionValues.map((optionValue) => ({
      value: optionValue,
      text: optionValue === defaultValue ? `${optionValue} (default)` : optionValue,
      isSelected: optionValue === (value === '' ? defaultValue : value),
    })),
  }
}

const PLACEHOLDERS = {
  text: 'any',
  heading: 'in the language',
  color: 'ff6600',
  language: '',
  currency: 'most common',
  price: 'any',
} as const

function toCheckboxes(values: readonly string[], shops: readonly CountedShop[]) {
  const knownNames = new Set(shops.map(({ name }) => name.toLowerCase()))
  const selected = new Set(values.map((value) => value.toLowerCase()))
  const others = values
    .filter((value) => !knownNames.has(value.toLowerCase()))
    .map((name) => ({ name, count: null }))
  return {
    kind: 'checks' as const,
    options: [...shops, ...others].map(({ name, count }) => ({
      value: name,
      text: name,
      count,
      countKey: toCountKey('merchant', name),
      isSelected: selected.has(name.toLowerCase()),
    })),
  }
}

function listSuggestions(control: string, name: string, details: FieldDetails): readonly string[] {
  if (control === 'language') return LANGUAGE_TAGS
  if (control === 'currency') return details.currencies
  return name === 'brand' ? details.brands : []
}

/** Return the default of an option as an address would write it, or `null`. */
function findDefault(row: OptionDefinition, { kind, defaults }: FieldDetails): string | null {
  const parse = kind === 'deals' ? parseGridOptions : parseBoxOptions
  const options = new Map<string, unknown>(Object.entries(parse(new URLSearchParams(), defaults, 'fragment')))
  const value = options.get(row.name === 'min_discount' ? 'minDiscountPercent' : row.name)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

const MAX_FACET_ENTRIES = 12

function toCountKey(name: string, value: string): string {
  return `count ${name} ${value}`
}

/** Format a count, with "+" if counting stopped at its bound. */
export function formatDealCount(count: number, { isBounded }: Pick<DealCounts, 'isBounded'>): string {
  return `${formatCount(count, 'en')}${isBounded ? '+' : ''}`
}

/** Build the counts of deals per filter value. The link of an entry adds its filter, or removes a selected one. */
export function toDealsPanel(
  counts: DealCounts,
  rawOptions: URLSearchParams,
  toHref: (rawOptions: URLSearchParams) => string,
) {
  const count = (value: number): string => formatDealCount(value, counts)
  const toFacet = (title: string, option: string, facets: DealCounts['brands'], suffix = '') => ({
    title,
    entries: facets.slice(0, MAX_FACET_ENTRIES).map((facet) => {
      const { name } = facet
      const isSelected = rawOptions.getAll(option).some((value) => value.toLowerCase() === name.toLowerCase())
      return {
        key: toCountKey(option, name),
        text: `${name}${suffix}`,
        count: count(facet.count),
        href: toHref(
          isSelected ? withoutValue(rawOptions, option, name) : withValue(rawOptions, option, name),
        ),
        isSelected,
      }
    }),
  })
  const discounts = counts.discounts.map(({ minPercent, ...facet }) => ({
    ...facet,
    name: String(minPercent),
  }))
  const brands = counts.brands.filter(({ name }) => name !== '')
  return {
    total: count(counts.total),
    facets: [
      toFacet('Discount', 'min_discount', discounts, ' % or more'),
      toFacet('Brand', 'brand', brands),
      toFacet('Shop', 'merchant', counts.merchants),
    ].filter(({ entries }) => entries.length > 0),
  }
}

/** Replace the values of a filter by this one and go back to the first page. */
function withValue(rawOptions: URLSearchParams, name: string, value: string): URLSearchParams {
  return new URLSearchParams(
    [...rawOptions].filter(([other]) => other !== name && other !== 'page').concat([[name, value]]),
  )
}

/** Remove one value of a filter and go back to the first page. */
function withoutValue(rawOptions: URLSearchParams, name: string, value: string): URLSearchParams {
  const isMatch = (other: string, text: string): boolean =>
    other === name && text.toLowerCase() === value.toLowerCase()
  return new URLSearchParams(
    [...rawOptions].filter(([other, text]) => other !== 'page' && !isMatch(other, text)),
  )
}
