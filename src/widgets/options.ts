import {
  type COMMON_OPTIONS,
  type OPTION_ROWS,
  type OptionDefinition,
  type WidgetKind,
  listOptions,
} from './option-list.ts'
import { type ControlValue, type OptionControl, createParameterReader } from './parameters.ts'

/** Defaults of the server, by property of the options. */
export type OptionDefaults = Readonly<{ locale: string; currency: string | null }>

/**
 * A fragment is part of a host page; an embed is a separate document in a frame; data is JSON; mail is part of a newsletter; a feed
 * is Atom.
 */
export type Surface = 'fragment' | 'embed' | 'data' | 'mail' | 'feed'

/** `null`: none. Options with a default, and the language, always have a value. */
type ParsedValue<Row> =
  Row extends Readonly<{ control: infer Control extends OptionControl }>
    ? | ControlValue<Control>
      | (Row extends Readonly<{ default: unknown } | { control: 'language' }> ? never : null)
    : never

type OptionsOf<Rows> = { readonly [Property in keyof Rows]: ParsedValue<Rows[Property]> }

/** Parsed and normalized options of a widget. */
export type WidgetOptions<Kind extends WidgetKind> = OptionsOf<(typeof OPTION_ROWS)[Kind]>
export type BoxOptions = WidgetOptions<'where-to-buy'>
export type PicksOptions = WidgetOptions<'picks'>
export type GridOptions = WidgetOptions<'deals'>
export type AnyOptions = BoxOptions | PicksOptions | GridOptions
/** Options of all widgets. */
export type CommonOptions = OptionsOf<typeof COMMON_OPTIONS>

type OptionParser<Kind extends WidgetKind> = (
  query: URLSearchParams,
  defaults: OptionDefaults,
  surface: Surface,
) => WidgetOptions<Kind>

/** Parse the options of a where-to-buy box; other parameters are ignored. @throws BadOptionError */
export const parseBoxOptions: OptionParser<'where-to-buy'> = createOptionParser('where-to-buy')
/** Parse the options of a round-up; other parameters are ignored. @throws BadOptionError */
export const parsePicksOptions: OptionParser<'picks'> = createOptionParser('picks')
/** Parse the options of a deal grid; other parameters are ignored. @throws BadOptionError */
export const parseGridOptions: OptionParser<'deals'> = createOptionParser('deals')

/** The parser of each widget's options. */
export const OPTION_PARSERS = {
  'where-to-buy': parseBoxOptions,
  picks: parsePicksOptions,
  deals: parseGridOptions,
} as const satisfies Readonly<{ [Kind in WidgetKind]: OptionParser<Kind> }>

type OptionValue = string | number | readonly string[] | null

function createOptionParser<Kind extends WidgetKind>(kind: Kind): OptionParser<Kind> {
  const rows = listOptions(kind)
  return (query, defaults, surface) => {
    const read = createParameterReader(query)
    const options: Record<string, OptionValue> = {}
    for (const row of rows) {
      const value = read(row.name, row.control)
      const fallback = getDefault(row, { kind, defaults, surface })
      options[row.property] = hasEffect(row, surface) ? (value ?? fallback) : fallback
    }
    // Styles of the page do not apply inside a shadow root, so it always links its own.
    if (options['isolate'] === 'shadow') options['css'] = 'link'
    return options as WidgetOptions<Kind>
  }
}

type DefaultContext = Readonly<{ kind: WidgetKind; defaults: OptionDefaults; surface: Surface }>

/** Return the value of an option that is not given, or that has no effect in the surface. */
export function getDefault(row: OptionDefinition, { kind, defaults, surface }: DefaultContext): OptionValue {
  if (!hasEffect(row, surface)) return 'none'
  const value = row.default ?? defaults[row.property as keyof OptionDefaults] ?? null
  return isByWidget(value) ? value[kind] : value
}

function isByWidget(
  value: OptionDefinition['default'] | null,
): value is Readonly<Record<WidgetKind, string>> {
  return typeof value === 'object' && value !== null && 'deals' in value
}

function hasEffect({ isFragmentOnly }: OptionDefinition, surface: Surface): boolean {
  return surface === 'fragment' || isFragmentOnly !== true
}

/** Rows in the order of normalized addresses: as in the documentation, but `page` last. */
const QUERY_ROWS = {
  'where-to-buy': listQueryRows('where-to-buy'),
  picks: listQueryRows('picks'),
  deals: listQueryRows('deals'),
} as const satisfies Readonly<Record<WidgetKind, unknown>>

function listQueryRows(kind: WidgetKind): readonly OptionDefinition[] {
  const rows = listOptions(kind)
  return [...rows.filter(({ name }) => name !== 'page'), ...rows.filter(({ name }) => name === 'page')]
}

/**
 * Format options as a normalized query string without defaults. Two strings are equal if and only if their options are. Parsing the
 * string returns the same options.
 */
export function toQuery<Kind extends WidgetKind>(
  kind: Kind,
  options: WidgetOptions<Kind>,
  defaults: OptionDefaults,
  surface: Surface = 'embed',
): string {
  const values = new Map<string, OptionValue>(Object.entries(options))
  const query = new URLSearchParams()
  for (const row of QUERY_ROWS[kind]) {
    const value = values.get(row.property) ?? []
    if (typeof value === 'object') for (const text of toTexts(row, value)) query.append(row.name, text)
    else if (value !== getDefault(row, { kind, defaults, surface })) query.set(row.name, String(value))
  }
  return query.toString()
}

/** GTINs are one value, separated by commas; other lists repeat the parameter. */
function toTexts({ control }: OptionDefinition, values: readonly string[]): readonly string[] {
  return control === 'gtins' && values.length > 0 ? [values.join(',')] : values
}

/** Append a query, if there is one. */
export function withQuery(address: string, query: string | URLSearchParams): string {
  const text = String(query)
  return text === '' ? address : `${address}?${text}`
}
