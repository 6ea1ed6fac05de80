import { BadOptionError } from '../errors.ts'
import { OPTION_LIST, type OptionDefinition } from '../widgets/option-list.ts'
import { type OptionDefaults, parseBoxOptions, parseGridOptions, toQuery } from '../widgets/options.ts'
import { createParameterReader, parseOrDefault, withoutEmptyFields } from '../widgets/parameters.ts'

export const STUDIO_TABS = ['where-to-buy', 'deals', 'coverage', 'feeds', 'health'] as const

export type StudioTab = (typeof STUDIO_TABS)[number]

/** Tabs about the state of the server. They have no widget. */
export type StatusTab = Exclude<StudioTab, 'where-to-buy' | 'deals'>

export type WidgetKind = Exclude<StudioTab, StatusTab>

export function isStatusTab(tab: StudioTab): tab is StatusTab {
  return tab !== 'where-to-buy' && tab !== 'deals'
}

/** The parsed query of the studio's address. Invalid parameters count as absent. */
export type StudioSelection = Readonly<{
  tab: StudioTab
  channelId: string | null
  gtin: string | null
  searchText: string
  /** Options of the tab's widget as typed, valid or not; other parameters are dropped. */
  rawOptions: URLSearchParams
}>

/** Parse the studio's query. Empty fields, which a form sends too, count as absent. */
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
        // Copied colours often begin with "#", which the option does not accept.
        .map(([name, value]): [string, string] => [
          name,
          name === 'accent' ? value.replace(/^#/, '') : value,
        ]),
    ),
  }
}

/** List the options of a tab's widget in the order of the documentation. */
export function listOptions(tab: StudioTab): readonly OptionDefinition[] {
  return isStatusTab(tab) ? [] : OPTION_LIST.filter(({ widget }) => widget === 'all' || widget === tab)
}

/** Whether a widget with these valid options is a part of a sentence, which only a fragment can be. */
export function isSentence(query: URLSearchParams): boolean {
  return query.get('layout') === 'inline'
}

/**
 * Check each option by itself with the widget's parser. `query`: valid options without defaults; `widgetQuery`: those
 * that have an effect in the layout; `errors`: messages by name.
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
      // Normalized shop names are in lower case; keep the readable form.
      const values = name === 'merchant' || name === 'exclude' ? singleOption : normalized
      for (const value of values.getAll(name)) query.append(name, value)
    } catch (error) {
      if (!(error instanceof BadOptionError)) throw error
      errors.set(name, error.publicMessage)
    }
  }
  return { query, widgetQuery: isSentence(query) ? toSentenceQuery(query) : query, errors }
}

function toSentenceQuery(query: URLSearchParams): URLSearchParams {
  return withoutOptions(query, ({ isUnusedInSentence }) => isUnusedInSentence === true)
}

/** Remove the options that only fragments have. */
export function toFrameQuery(query: URLSearchParams): URLSearchParams {
  return withoutOptions(query, ({ isFragmentOnly }) => isFragmentOnly === true)
}

function withoutOptions(
  query: URLSearchParams,
  isRemoved: (row: OptionDefinition) => boolean,
): URLSearchParams {
  const names = new Set(OPTION_LIST.filter(isRemoved).map(({ name }) => name))
  return new URLSearchParams([...query].filter(([name]) => !names.has(name)))
}
