import { BadOptionError } from '../errors.ts'
import {
  OPTION_LIST,
  type OptionDefaults,
  type OptionDefinition,
  parseBoxOptions,
  parseGridOptions,
  toQuery,
} from '../widgets/options.ts'
import { createParameterReader, parseOrDefault, withoutEmptyFields } from '../widgets/parameters.ts'

/** The pages of the studio. */
export const STUDIO_TABS = ['where-to-buy', 'deals', 'health'] as const

export type StudioTab = (typeof STUDIO_TABS)[number]

/** What a tab embeds. */
export type WidgetKind = Exclude<StudioTab, 'health'>

/** What the studio's address says; everything is optional there, and what cannot be read counts as not given. */
export type StudioSelection = Readonly<{
  tab: StudioTab
  channelId: string | null
  gtin: string | null
  /** Words or digits of the product search; empty at first. */
  searchText: string
  /** Options of the tab's widget as they were typed, right or wrong; other parameters are dropped. */
  rawOptions: URLSearchParams
}>

/** Reads the studio's query. A form sends empty fields: they count as not given. */
export function parseStudioSelection(query: URLSearchParams): StudioSelection {
  const fields = withoutEmptyFields(query)
  const reader = createParameterReader(fields)
  const tab = parseOrDefault(() => reader.oneOf('tab', STUDIO_TABS, 'where-to-buy'), 'where-to-buy')
  const names = new Set(listOptions(tab).map(({ name }) => name))
  return {
    tab,
    channelId: parseOrDefault(() => reader.text('channel')?.toLowerCase() ?? null, null),
    gtin: parseOrDefault(() => reader.text('gtin'), null),
    searchText: parseOrDefault(() => reader.text('find') ?? '', ''),
    rawOptions: new URLSearchParams(
      [...fields]
        .filter(([name]) => names.has(name))
        // Colours are copied with their sign, which no address has.
        .map(([name, value]): [string, string] => [
          name,
          name === 'accent' ? value.replace(/^#/, '') : value,
        ]),
    ),
  }
}

/** The options that a tab's widget has, in the order of the documentation. */
export function listOptions(tab: StudioTab): readonly OptionDefinition[] {
  return tab === 'health' ? [] : OPTION_LIST.filter(({ widget }) => widget === 'both' || widget === tab)
}

/**
 * Try each option by itself with the widget's own parser; the health tab has none. `query`: what is right and not as by default, in
 * the order of the list. `errors`: what is wrong, by name, in the words of the response that its address would get.
 */
export function validateOptions(kind: StudioTab, rawOptions: URLSearchParams, defaults: OptionDefaults) {
  const parse = kind === 'deals' ? parseGridOptions : parseBoxOptions
  const query = new URLSearchParams()
  const errors = new Map<string, string>()
  for (const { name } of listOptions(kind)) {
    const singleOption = new URLSearchParams(
      rawOptions.getAll(name).map((value): [string, string] => [name, value]),
    )
    try {
      const normalized = new URLSearchParams(
        toQuery(parse(singleOption, defaults, 'fragment'), defaults, 'fragment'),
      )
      // Names of shops stay as they are read best.
      const values = name === 'merchant' || name === 'exclude' ? singleOption : normalized
      for (const value of values.getAll(name)) query.append(name, value)
    } catch (error) {
      if (!(error instanceof BadOptionError)) throw error
      errors.set(name, error.publicMessage)
    }
  }
  return { query, errors }
}

/** A query without the options that only fragments have. */
export function toFrameQuery(query: URLSearchParams): URLSearchParams {
  const fragmentOnlyNames = new Set(OPTION_LIST.filter((row) => row.isFragmentOnly).map(({ name }) => name))
  return new URLSearchParams([...query].filter(([name]) => !fragmentOnlyNames.has(name)))
}
