import type { OptionRow } from '../widgets/options.ts'
import { type OptionDefaults, parseBoxOptions, parseGridOptions } from '../widgets/options.ts'
import { type JudgedOptions, listOptions } from './choice.ts'
import { toCountKey } from './deals-panel.ts'
import type { FieldGroupView, FieldView, StudioKind } from './views.ts'

/** What fields are made of: the widget, what was typed, and what its data offer to choose from. */
export type FieldDetails = Readonly<{
  kind: StudioKind
  typed: URLSearchParams
  errors: JudgedOptions['errors']
  defaults: OptionDefaults
  /** Shops that can be chosen, in the order of the list, with the number of deals where that is known. */
  shops: readonly Choosable[]
  currencies: readonly string[]
  brands: readonly string[]
  languages: readonly string[]
}>

/** Something to choose, and how many deals it has; `null`: not counted. */
export type Choosable = Readonly<{ name: string; count: string | null }>

/** Fields of one heading, by the names of their options. */
const GROUPS: readonly Readonly<{ title: string; names: readonly string[] }>[] = [
  { title: 'Look', names: ['layout', 'theme', 'accent', 'locale', 'limit'] },
  { title: 'Which deals', names: ['sort', 'min_discount', 'max_price', 'brand', 'q', 'page'] },
  { title: 'Which offers', names: ['stock', 'currency', 'merchant', 'exclude'] },
  { title: 'Only in includes', names: ['isolate', 'css', 'markup'] },
]

/** Every option of a widget as a field, under its heading. */
export function listFields(details: FieldDetails): readonly FieldGroupView[] {
  const rows = new Map(listOptions(details.kind).map((row) => [row.name, row]))
  return GROUPS.map(({ title, names }) => ({
    title,
    fields: names.flatMap((name) => {
      const row = rows.get(name)
      return row === undefined ? [] : [toField(row, details)]
    }),
  })).filter(({ fields }) => fields.length > 0)
}

function toField(row: OptionRow, details: FieldDetails): FieldView {
  const values = details.typed.getAll(row.name)
  return {
    name: row.name,
    label: row.label,
    hint: toSentence(row.meaning.replaceAll('`', '')),
    error: details.errors.get(row.name)?.replace(`The parameter "${row.name}"`, `“${row.label}”`) ?? null,
    control: toControl(row, values, details),
  }
}

function toControl(row: OptionRow, values: readonly string[], details: FieldDetails): FieldView['control'] {
  const { control, name } = row
  const [value = ''] = values
  const standard = findDefault(row, details)
  if (control === 'shops') return toChecks(values, details.shops)
  if (typeof control === 'string') {
    const isPrice = control === 'price'
    return {
      kind: 'input',
      type: 'text',
      value,
      placeholder: standard ?? PLACEHOLDERS[control],
      inputMode: isPrice ? 'decimal' : 'text',
      suggestions: listSuggestions(control, name, details),
    }
  }
  if ('min' in control)
    return { kind: 'input', type: 'number', value, placeholder: standard ?? '', ...control, suggestions: [] }
  // A word that is none stays to be seen, beside what is wrong with it.
  const words = value === '' || control.includes(value) ? control : [...control, value]
  return {
    kind: 'select',
    options: words.map((word) => ({
      value: word,
      text: word === standard ? `${word} (by default)` : word,
      isChosen: word === (value === '' ? standard : value),
    })),
  }
}

/** Shown in an empty field where nothing stands by default. */
const PLACEHOLDERS = {
  text: 'any',
  color: 'ff6600',
  language: '',
  currency: 'that of most offers',
  price: 'any',
} as const

function toChecks(values: readonly string[], shops: readonly Choosable[]): FieldView['control'] {
  const known = new Set(shops.map(({ name }) => name.toLowerCase()))
  const chosen = new Set(values.map((value) => value.toLowerCase()))
  const others = values
    .filter((value) => !known.has(value.toLowerCase()))
    .map((name) => ({ name, count: null }))
  return {
    kind: 'checks',
    options: [...shops, ...others].map(({ name, count }) => ({
      value: name,
      text: name,
      count,
      countKey: toCountKey('merchant', name),
      isChosen: chosen.has(name.toLowerCase()),
    })),
  }
}

function listSuggestions(control: string, name: string, details: FieldDetails): readonly string[] {
  if (control === 'language') return details.languages
  if (control === 'currency') return details.currencies
  return name === 'brand' ? details.brands : []
}

/** What an option is where nothing is named, as it would be written; `null` where that is nothing. */
function findDefault(row: OptionRow, { kind, defaults }: FieldDetails): string | null {
  const parse = kind === 'deals' ? parseGridOptions : parseBoxOptions
  const options = new Map<string, unknown>(Object.entries(parse(new URLSearchParams(), defaults, 'fragment')))
  const value = options.get(row.name === 'min_discount' ? 'minDiscountPercent' : row.name)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}

function toSentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`
}
