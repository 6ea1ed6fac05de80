import type { ShopBook } from '../offers/shop-book.ts'
import { foldCase } from '../offers/text.ts'
import type { DealCounts } from '../storage/store.ts'
import { LANGUAGE_TAGS } from '../widgets/locales/index.ts'
import {
  type OptionDefinition,
  type OptionGroup,
  type WidgetKind,
  listOptions,
} from '../widgets/option-list.ts'
import { type OptionDefaults, getDefault } from '../widgets/options.ts'
import { capitalize, formatNumber } from '../lib/format.ts'

export type FieldOptions = Readonly<{
  kind: WidgetKind
  rawOptions: URLSearchParams
  errors: ReadonlyMap<string, string>
  defaults: OptionDefaults
  shops: readonly CountedShop[]
  shopBook: ShopBook
  /** The heading in the language of the widget. */
  heading: string
  currencies: readonly string[]
  brands: readonly string[]
}>

/** A shop, by its merchant name in the option, and its number of deals; `null` if not counted. */
type CountedShop = Readonly<{ name: string; count: string | null }>

type GroupDefinition = Readonly<{
  title: string
  /** What all fields of the group have in common; `null`: nothing to explain. */
  note: string | null
  /** Why fields of the group have no effect in the layout `inline`; `null`: all have. */
  sentenceReason: string | null
  /** Closed until one of its fields has a value. */
  isAdvanced: boolean
}>

/** In the order of the page. */
const GROUPS: Readonly<Record<OptionGroup, GroupDefinition>> = {
  look: {
    title: 'Look',
    note: null,
    sentenceReason: 'The layout inline has the font and the colours of your page.',
    isAdvanced: false,
  },
  deals: { title: 'Deals', note: null, sentenceReason: null, isAdvanced: false },
  shops: {
    title: 'Shops',
    note: null,
    sentenceReason: 'The layout inline shows only an offer in stock.',
    isAdvanced: false,
  },
  placement: {
    title: 'Placement',
    note: 'Your own id of the article or position. The links of networks that this server has a rule for get it as a sub-id, so that their reports name the place of a sale. Readers see no difference.',
    sentenceReason: null,
    isAdvanced: true,
  },
  advanced: {
    title: 'Advanced',
    note: 'Only for includes, where your server inserts the box into the page. No effect in frames.',
    sentenceReason: null,
    isAdvanced: true,
  },
}

/** List the fields of a widget by group, in the order of the groups. Groups without fields are omitted. */
export function listFields(options: FieldOptions) {
  const rows = listOptions(options.kind).toSorted((a, b) => toRank(a) - toRank(b))
  return Object.entries(GROUPS)
    .map(([name, group]) => {
      const own = rows.filter(({ field }) => field?.group === name)
      const fields = own.map((row) => toField(row, options))
      const { title, note, isAdvanced } = group
      return {
        title,
        note,
        sentenceNote: toSentenceNote(group, fields, options),
        isOpen: !isAdvanced || own.some(({ name }) => options.rawOptions.has(name)),
        fields,
      }
    })
    .filter(({ fields }) => fields.length > 0)
}

/** Say which fields the layout `inline` hides, and why; `null`: none. */
function toSentenceNote(
  { sentenceReason }: GroupDefinition,
  fields: readonly FieldView[],
  { kind }: FieldOptions,
): string | null {
  if (kind !== 'where-to-buy' || sentenceReason === null) return null
  const labels = fields.filter(({ isUnusedInSentence }) => isUnusedInSentence).map(({ label }) => label)
  return `${sentenceReason} Without effect, so hidden: ${labels.join(', ')}.`
}

function toRank({ field }: OptionDefinition): number {
  return field?.rank ?? Number.MAX_SAFE_INTEGER
}

export type FieldView = ReturnType<typeof toField>

function toField(row: OptionDefinition, options: FieldOptions) {
  const values = options.rawOptions.getAll(row.name)
  return {
    name: row.name,
    label: row.label,
    hint: toHint(row, options),
    isUnusedInSentence: options.kind === 'where-to-buy' && row.isUnusedInSentence === true,
    error: options.errors.get(row.name)?.replace(`The parameter "${row.name}"`, `“${row.label}”`) ?? null,
    control: toControl(row, values, options),
  }
}

/** The only place that names the default, because the field shows it without saying so. */
function toHint(row: OptionDefinition, options: FieldOptions): string {
  const defaultText = findDefault(row, options) ?? row.defaultText
  return `${toSentence(row.description)} Default: ${defaultText}.`.replaceAll('`', '')
}

function toControl(row: OptionDefinition, values: readonly string[], options: FieldOptions) {
  const { control, name } = row
  const [value = ''] = values
  const defaultValue = findDefault(row, options)
  if (control === 'shops') return toCheckboxes(values, options)
  if (typeof control === 'string') {
    return {
      kind: 'input',
      type: 'text',
      value,
      placeholder: defaultValue ?? { ...PLACEHOLDERS, heading: options.heading }[control],
      inputMode: control === 'price' ? 'decimal' : 'text',
      suggestions: listSuggestions(control, name, options),
      picker: toPicker(control, value),
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
      picker: null,
    } as const
  }
  // An invalid value stays visible beside its error message.
  const optionValues = value === '' || control.includes(value) ? control : [...control, value]
  return {
    kind: 'select' as const,
    options: optionValues.map((optionValue) => ({
      value: optionValue,
      text: control.includes(optionValue) ? capitalize(optionValue) : optionValue,
      isSelected: optionValue === (value === '' ? defaultValue : value),
    })),
  }
}

/** The accent of the light theme in public/styles/vitrine.css, which the colour picker shows while none is chosen. */
const THEME_ACCENT = '#0f5257'

/** Return the colour that a colour picker shows, in the only notation that it accepts; `null`: no picker. */
function toPicker(control: string, value: string) {
  if (control !== 'color') return null
  const color = /^[0-9a-f]{6}$/i.test(value) ? `#${value.toLowerCase()}` : THEME_ACCENT
  return { color, themeColor: THEME_ACCENT }
}

const PLACEHOLDERS = {
  text: 'any',
  color: 'Theme’s own',
  language: '',
  currency: 'most common',
  price: 'any',
  sub: 'none',
  gtins: '',
  labels: '',
} as const

function toCheckboxes(values: readonly string[], { shops, shopBook }: FieldOptions) {
  const otherNames = values
    .filter((value) => !shops.some(({ name }) => isSelected(name, [value], shopBook)))
    .map((value) => findMainName(value, shopBook))
  const others = [...new Map(otherNames.map((name) => [foldCase(name), { name, count: null }])).values()]
  return {
    kind: 'checks' as const,
    options: [...shops, ...others].map(({ name, count }) => ({
      value: name,
      text: shopBook.toShownName(name),
      count,
      isSelected: isSelected(name, values, shopBook),
    })),
  }
}

/** Return the main name of a shop of the book for any of its names, and other names unchanged. */
function findMainName(value: string, shopBook: ShopBook): string {
  const names = shopBook.expandNames([foldCase(value)])
  return shopBook.toMainName(names.find((name) => shopBook.find(name) !== undefined) ?? value)
}

/** Whether values of the option `merchant` or `exclude`, which can be any names of shops, select a merchant. */
function isSelected(merchant: string, values: readonly string[], shopBook: ShopBook): boolean {
  return shopBook.expandNames(values.map(foldCase)).includes(foldCase(merchant))
}

/** `label`: what a value stands for; empty if it needs no explanation. */
type Suggestion = Readonly<{ value: string; label: string }>

function listSuggestions(control: string, name: string, options: FieldOptions): readonly Suggestion[] {
  if (control === 'language') return listLanguages()
  const values = control === 'currency' ? options.currencies : name === 'brand' ? options.brands : []
  return values.map((value) => ({ value, label: '' }))
}

function listLanguages(): readonly Suggestion[] {
  const names = new Intl.DisplayNames('en', { type: 'language' })
  return LANGUAGE_TAGS.map((value) => ({ value, label: names.of(value) ?? '' }))
}

/** Return the default of an option as an address would write it, or `null`. */
function findDefault(row: OptionDefinition, { kind, defaults }: FieldOptions): string | null {
  const value = getDefault(row, { kind, defaults, surface: 'fragment' })
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}

function toSentence(text: string): string {
  return `${capitalize(text)}.`
}

const MAX_FACET_ENTRIES = 12

/** Format a count, with "+" if counting stopped at its bound. */
export function formatDealCount(count: number, { isBounded }: Pick<DealCounts, 'isBounded'>): string {
  return `${formatNumber(count)}${isBounded ? '+' : ''}`
}

export type DealsPanelOptions = Readonly<{
  rawOptions: URLSearchParams
  shopBook: ShopBook
  toHref(rawOptions: URLSearchParams): string
}>

/** Build the counts of deals per filter value. The link of an entry adds its filter, or removes a selected one. */
export function toDealsPanel(counts: DealCounts, { rawOptions, shopBook, toHref }: DealsPanelOptions) {
  const count = (value: number): string => formatDealCount(value, counts)
  const toFacet = (title: string, option: string, facets: readonly FacetValue[]) => ({
    title,
    entries: facets.slice(0, MAX_FACET_ENTRIES).map((facet) => {
      const { name, text } = facet
      const isMatch = (value: string): boolean =>
        option === 'merchant' ? isSelected(name, [value], shopBook) : foldCase(value) === foldCase(name)
      const isEntrySelected = rawOptions.getAll(option).some(isMatch)
      return {
        text,
        count: count(facet.count),
        href: toHref(
          isEntrySelected ? withoutValues(rawOptions, option, isMatch) : withValue(rawOptions, option, name),
        ),
        isSelected: isEntrySelected,
      }
    }),
  })
  const discounts = counts.discounts.map(({ minPercent, ...facet }) => ({
    ...facet,
    name: String(minPercent),
    text: `from ${minPercent} %`,
  }))
  const brands = counts.brands.map((facet) => ({ ...facet, text: facet.name }))
  const merchants = counts.merchants.map(({ name, ...facet }) => ({
    ...facet,
    name: shopBook.toMainName(name),
    text: shopBook.toShownName(name),
  }))
  return {
    total: count(counts.total),
    facets: [
      toFacet('Discount', 'min_discount', discounts),
      toFacet(
        'Brand',
        'brand',
        brands.filter(({ name }) => name !== ''),
      ),
      toFacet('Shop', 'merchant', merchants),
    ].filter(({ entries }) => entries.length > 0),
  }
}

/** `name`: value of the option; `text`: what people read. */
type FacetValue = Readonly<{ name: string; text: string; count: number }>

/** Replace the values of a filter by this one and go back to the first page. */
function withValue(rawOptions: URLSearchParams, name: string, value: string): URLSearchParams {
  return new URLSearchParams(
    [...rawOptions].filter(([other]) => other !== name && other !== 'page').concat([[name, value]]),
  )
}

/** Remove the matching values of a filter and go back to the first page. */
function withoutValues(
  rawOptions: URLSearchParams,
  name: string,
  isMatch: (value: string) => boolean,
): URLSearchParams {
  return new URLSearchParams(
    [...rawOptions].filter(([other, value]) => other !== 'page' && !(other === name && isMatch(value))),
  )
}
