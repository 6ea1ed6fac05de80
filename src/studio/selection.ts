import { BadOptionError } from '../errors.ts'
import { OPTION_LIST, type OptionDefinition } from '../widgets/option-list.ts'
import {
  type OptionDefaults,
  parseBoxOptions,
  parseGridOptions,
  parsePicksOptions,
  toQuery,
} from '../widgets/options.ts'
import { createParameterReader, parseOrDefault, withoutEmptyFields } from '../widgets/parameters.ts'
import {
  type BoxProducts,
  parseBoxProducts,
  type PicksList,
  listLabels,
  parsePicks,
} from './product-lists.ts'

export const STUDIO_TABS = ['where-to-buy', 'picks', 'deals', 'coverage', 'feeds', 'health'] as const

export type StudioTab = (typeof STUDIO_TABS)[number]

/** Tabs about the state of the server. They have no widget. */
export type StatusTab = 'coverage' | 'feeds' | 'health'

export type WidgetKind = Exclude<StudioTab, StatusTab>

export function isStatusTab(tab: StudioTab): tab is StatusTab {
  return tab === 'coverage' || tab === 'feeds' || tab === 'health'
}

/** The parsed query of the studio's address. Invalid parameters count as absent. */
export type StudioSelection = Readonly<{
  tab: StudioTab
  channelId: string | null
  /** The chosen product of a box, as typed. */
  gtin: string | null
  /** Its variants and stand-ins. */
  box: BoxProducts
  /** The products of a round-up. */
  picks: PicksList
  searchText: string
  /** The search for variants and stand-ins. */
  boxSearchText: string
  /** Options of the tab's widget as typed, valid or not, without those of `LIST_OPTIONS`; other parameters are dropped. */
  rawOptions: URLSearchParams
}>

/** Options that lists of products hold in place of a field. */
export const LIST_OPTIONS: ReadonlySet<string> = new Set(['else', 'label'])

/** Parse the studio's query. Empty fields, which a form sends too, count as absent, but for labels, which have positions. */
export function parseStudioSelection(query: URLSearchParams): StudioSelection {
  const fields = withoutEmptyFields(query)
  const reader = createParameterReader(fields)
  const tab = parseOrDefault(() => reader.oneOf('tab', STUDIO_TABS, 'where-to-buy'), 'where-to-buy')
  const names = new Set(listOptions(tab).flatMap(({ name }) => (LIST_OPTIONS.has(name) ? [] : [name])))
  const { gtin, variants } = parseProduct(fields)
  return {
    tab,
    channelId: parseOrDefault(() => reader.text('channel')?.toLowerCase() ?? null, null),
    gtin,
    box: parseBoxProducts(gtin, { variants, standIns: fields.getAll('else').join(',').split(',') }),
    picks: parsePicks(fields.getAll('gtins').join(','), query.getAll('label')),
    searchText: parseOrDefault(() => reader.text('find') ?? '', ''),
    boxSearchText: parseOrDefault(() => reader.text('also') ?? '', ''),
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

/** The parameter holds the chosen product and its variants, separated by "~". */
function parseProduct(fields: URLSearchParams) {
  const texts = fields.getAll('gtin')
  const [mainText = '', ...variants] = texts.length === 1 ? (texts[0] ?? '').split('~') : []
  const reader = createParameterReader(new URLSearchParams({ gtin: mainText }))
  return { gtin: parseOrDefault(() => reader.text('gtin'), null), variants }
}

/** Format a selection as a query, which `parseStudioSelection` parses. */
export function toSelectionQuery(selection: StudioSelection, channelId: string | null): URLSearchParams {
  const { tab, searchText, boxSearchText, rawOptions } = selection
  const query = new URLSearchParams()
  if (tab !== 'where-to-buy') query.set('tab', tab)
  if (channelId !== null) query.set('channel', channelId)
  for (const [name, value] of listHeldProducts(selection)) query.append(name, value)
  if ((tab === 'where-to-buy' || tab === 'picks') && searchText !== '') query.set('find', searchText)
  if (tab === 'where-to-buy' && boxSearchText !== '') query.set('also', boxSearchText)
  for (const [name, value] of rawOptions) query.append(name, value)
  return query
}

/** List the parameters that hold the products of both widgets, so that they stay while another tab is open. */
export function listHeldProducts({ gtin, box, picks }: StudioSelection): readonly [string, string][] {
  return [
    ...(gtin === null ? [] : [['gtin', [gtin, ...box.variants].join('~')] as [string, string]]),
    ...(box.standIns.length === 0 ? [] : [['else', box.standIns.join(',')] as [string, string]]),
    ...(picks.length === 0 ? [] : [['gtins', picks.map((pick) => pick.gtin).join(',')] as [string, string]]),
    ...listLabels(picks).map((label): [string, string] => ['label', label]),
  ]
}

/** List the options of a tab's widget in the order of the documentation. */
export function listOptions(tab: StudioTab): readonly OptionDefinition[] {
  return isStatusTab(tab) ? [] : OPTION_LIST.filter(({ widget }) => widget === 'all' || widget === tab)
}

/** Whether a widget with these valid options is a part of a sentence, which only a fragment can be. */
export function isSentence(query: URLSearchParams): boolean {
  return query.get('layout') === 'inline'
}

/** The parser of each widget's options. */
export const OPTION_PARSERS = {
  'where-to-buy': parseBoxOptions,
  picks: parsePicksOptions,
  deals: parseGridOptions,
} as const satisfies Readonly<Record<WidgetKind, unknown>>

/**
 * Check each option by itself with the widget's parser. `query`: valid options without defaults; `widgetQuery`: those
 * that have an effect in the layout; `errors`: messages by name.
 */
export function validateOptions(kind: StudioTab, rawOptions: URLSearchParams, defaults: OptionDefaults) {
  const parse = isStatusTab(kind) ? parseBoxOptions : OPTION_PARSERS[kind]
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

/** Add the options that lists of products hold. */
export function withListOptions(
  query: URLSearchParams,
  { standIns, labels }: Readonly<{ standIns: readonly string[]; labels: readonly string[] }>,
): URLSearchParams {
  const complete = new URLSearchParams(query)
  if (standIns.length > 0) complete.set('else', standIns.join(','))
  for (const label of labels) complete.append('label', label)
  return complete
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
