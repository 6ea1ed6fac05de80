import type { ShopBook } from '../offers/shop-book.ts'
import { foldCase } from '../offers/text.ts'
import type { DealCounts } from '../storage/store.ts'
import { formatCount } from '../widgets/format.ts'
import { LANGUAGE_TAGS } from '../widgets/locales/index.ts'
import type { OptionDefinition } from '../widgets/option-list.ts'
import type { OptionDefaults } from '../widgets/options.ts'
import { type WidgetKind, LIST_OPTIONS, OPTION_PARSERS, listOptions } from './selection.ts'

export type FieldDetails = Readonly<{
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
  /** Order of its fields. Options that no group names are in the first group, after these. */
  names: readonly string[]
  /** Why fields of the group have no effect in the layout `inline`; `null`: all have. */
  sentenceReason: string | null
  /** Closed until one of its fields has a value. */
  isAdvanced: boolean
}>

const LOOK: GroupDefinition = {
  title: 'Look',
  note: null,
  names: ['layout', 'head', 'heading', 'theme', 'accent', 'limit', 'locale'],
  sentenceReason: 'The layout inline has the font and the colours of your page.',
  isAdvanced: false,
}

const ADVANCED: GroupDefinition = {
  title: 'Advanced',
  note: 'Only for includes, where your server inserts the box into the page. No effect in frames.',
  names: [],
  sentenceReason: null,
  isAdvanced: true,
}

const GROUPS: readonly GroupDefinition[] = [
  LOOK,
  {
    title: 'Deals',
    note: null,
    names: ['sort', 'evidence', 'min_discount', 'max_price', 'brand', 'q', 'page'],
    sentenceReason: null,
    isAdvanced: false,
  },
  {
    title: 'Shops',
    note: null,
    names: ['stock', 'currency', 'merchant', 'exclude'],
    sentenceReason: 'The layout inline shows only an offer in stock.',
    isAdvanced: false,
  },
  {
    title: 'Placement',
    note: 'Your own id of the article or position. The links of networks that this server has a rule for get it as a sub-id, so that their reports name the place of a sale. Readers see no difference.',
    names: ['sub'],
    sentenceReason: null,
    isAdvanced: true,
  },
  ADVANCED,
]

/** List the fields of a widget by group, in the order of the groups. Groups without fields are omitted. */
export function listFields(details: FieldDetails) {
  const rows = listOptions(details.kind).filter(({ name }) => !LIST_OPTIONS.has(name))
  return GROUPS.map((group) => {
    const own = rows.filter((row) => findGroup(row) === group)
    const fields = own
      .toSorted((a, b) => rankIn(group, a) - rankIn(group, b))
      .map((row) => toField(row, details))
    const { title, note, isAdvanced } = group
    return {
      title,
      note,
      sentenceNote: toSentenceNote(group, fields, details),
      isOpen: !isAdvanced || own.some(({ name }) => details.rawOptions.has(name)),
      fields,
    }
  }).filter(({ fields }) => fields.length > 0)
}

/** Say which fields the layout `inline` hides, and why; `null`: none. */
function toSentenceNote(
  { sentenceReason }: GroupDefinition,
  fields: readonly FieldView[],
  { kind }: FieldDetails,
): string | null {
  if (kind !== 'where-to-buy' || sentenceReason === null) return null
  const labels = fields.filter(({ isUnusedInSentence }) => isUnusedInSentence).map(({ label }) => label)
  return `${sentenceReason} Without effect, so hidden: ${labels.join(', ')}.`
}

function findGroup({ name, isFragmentOnly }: OptionDefinition): GroupDefinition {
  if (isFragmentOnly === true) return ADVANCED
  return GROUPS.find(({ names }) => names.includes(name)) ?? LOOK
}

function rankIn({ names }: GroupDefinition, { name }: OptionDefinition): number {
  return names.includes(name) ? names.indexOf(name) : names.length
}

export type FieldView = ReturnType<typeof toField>

function toField(row: OptionDefinition, details: FieldDetails) {
  const values = details.rawOptions.getAll(row.name)
  return {
    name: row.name,
    label: row.label,
    hint: toHint(row, details),
    isUnusedInSentence: details.kind === 'where-to-buy' && row.isUnusedInSentence === true,
    error: details.errors.get(row.name)?.replace(`The parameter "${row.name}"`, `“${row.label}”`) ?? null,
    control: toControl(row, values, details),
  }
}

/** The only place that names the default, because the field shows it without saying so. */
function toHint(row: OptionDefinition, details: FieldDetails): string {
  const defaultText = findDefault(row, details) ?? row.defaultText
  return `${toSentence(row.description)} Default: ${defaultText}.`.replaceAll('`', '')
}

function toControl(row: OptionDefinition, values: readonly string[], details: FieldDetails) {
  const { control, name } = row
  const [value = ''] = values
  const defaultValue = findDefault(row, details)
  if (control === 'shops') return toCheckboxes(values, details)
  if (typeof control === 'string') {
    return {
      kind: 'input',
      type: 'text',
      value,
      placeholder: defaultValue ?? { ...PLACEHOLDERS, heading: details.heading }[control],
      inputMode: control === 'price' ? 'decimal' : 'text',
      suggestions: listSuggestions(control, name, details),
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

function toCheckboxes(values: readonly string[], { shops, shopBook }: FieldDetails) {
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
      countKey: toCountKey('merchant', name),
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

function listSuggestions(control: string, name: string, details: FieldDetails): readonly Suggestion[] {
  if (control === 'language') return listLanguages()
  const values = control === 'currency' ? details.currencies : name === 'brand' ? details.brands : []
  return values.map((value) => ({ value, label: '' }))
}

function listLanguages(): readonly Suggestion[] {
  const names = new Intl.DisplayNames('en', { type: 'language' })
  return LANGUAGE_TAGS.map((value) => ({ value, label: names.of(value) ?? '' }))
}

/** Return the default of an option as an address would write it, or `null`. */
function findDefault(row: OptionDefinition, { kind, defaults }: FieldDetails): string | null {
  const parse = OPTION_PARSERS[kind]
  const options = new Map<string, unknown>(Object.entries(parse(new URLSearchParams(), defaults, 'fragment')))
  const value = options.get(row.name === 'min_discount' ? 'minDiscountPercent' : row.name)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}

function toSentence(text: string): string {
  return `${capitalize(text)}.`
}

function capitalize(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

const MAX_FACET_ENTRIES = 12

function toCountKey(name: string, value: string): string {
  return `count ${name} ${value}`
}

/** Format a count, with "+" if counting stopped at its bound. */
export function formatDealCount(count: number, { isBounded }: Pick<DealCounts, 'isBounded'>): string {
  return `${formatCount(count, 'en')}${isBounded ? '+' : ''}`
}

export type DealsPanelDetails = Readonly<{
  rawOptions: URLSearchParams
  shopBook: ShopBook
  toHref(rawOptions: URLSearchParams): string
}>

/** Build the counts of deals per filter value. The link of an entry adds its filter, or removes a selected one. */
export function toDealsPanel(counts: DealCounts, { rawOptions, shopBook, toHref }: DealsPanelDetails) {
  const count = (value: number): string => formatDealCount(value, counts)
  const toFacet = (title: string, option: string, facets: readonly FacetValue[]) => ({
    title,
    entries: facets.slice(0, MAX_FACET_ENTRIES).map((facet) => {
      const { name, text } = facet
      const isMatch = (value: string): boolean =>
        option === 'merchant' ? isSelected(name, [value], shopBook) : foldCase(value) === foldCase(name)
      const isEntrySelected = rawOptions.getAll(option).some(isMatch)
      return {
        key: toCountKey(option, name),
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
