import { BadOptionError } from '../errors.ts'
import { OPTION_LIST, type OptionDefinition, type WidgetKind, listOptions } from '../widgets/option-list.ts'
import { type OptionDefaults, OPTION_PARSERS, toQuery } from '../widgets/options.ts'
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
  /** Options of the tab's widget as typed, valid or not, without those that lists of products hold; other parameters are dropped. */
  rawOptions: URLSearchParams
}>

/** Parse the studio's query. Empty fields, which a form sends too, count as absent, but for labels, which have positions. */
export function parseStudioSelection(query: URLSearchParams): StudioSelection {
  const fields = withoutEmptyFields(query)
  const read = createParameterReader(fields)
  const tab = parseOrDefault(() => read('tab', STUDIO_TABS) ?? 'where-to-buy', 'where-to-buy')
  const rows = isStatusTab(tab) ? [] : listOptions(tab).filter(({ field }) => field !== null)
  const controls = new Map(rows.map(({ name, control }) => [name, control]))
  const { gtin, variants } = parseProduct(fields)
  return {
    tab,
    channelId: parseOrDefault(() => read('channel', 'text')?.toLowerCase() ?? null, null),
    gtin,
    box: parseBoxProducts(gtin, { variants, standIns: fields.getAll('else').join(',').split(',') }),
    picks: parsePicks(fields.getAll('gtins').join(','), query.getAll('label')),
    searchText: parseOrDefault(() => read('find', 'text') ?? '', ''),
    boxSearchText: parseOrDefault(() => read('also', 'text') ?? '', ''),
    rawOptions: new URLSearchParams(
      [...fields]
        .filter(([name]) => controls.has(name))
        // Copied colours often begin with "#", which the option does not accept.
        .map(([name, value]): [string, string] => [
          name,
          controls.get(name) === 'color' ? value.replace(/^#/, '') : value,
        ]),
    ),
  }
}

/** The parameter holds the chosen product and its variants, separated by "~". */
function parseProduct(fields: URLSearchParams) {
  const texts = fields.getAll('gtin')
  const [mainText = '', ...variants] = texts.length === 1 ? (texts[0] ?? '').split('~') : []
  const read = createParameterReader(new URLSearchParams({ gtin: mainText }))
  return { gtin: parseOrDefault(() => read('gtin', 'text'), null), variants }
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

/** Whether a widget with these valid options is a part of a sentence, which only a fragment can be. */
export function isSentence(query: URLSearchParams): boolean {
  return query.get('layout') === 'inline'
}

/**
 * Check each option by itself with the widget's parser. `query`: valid options without defaults; `widgetQuery`: those
 * that have an effect in the layout; `errors`: messages by name.
 */
export function validateOptions(tab: StudioTab, rawOptions: URLSearchParams, defaults: OptionDefaults) {
  const query = new URLSearchParams()
  const errors = new Map<string, string>()
  if (isStatusTab(tab)) return { query, widgetQuery: query, errors }
  for (const { name, control } of listOptions(tab)) {
    const singleOption = new URLSearchParams(
      rawOptions.getAll(name).map((value): [string, string] => [name, value]),
    )
    try {
      const normalized = normalizeOptions(tab, singleOption, defaults)
      // Normalized shop names are in lower case; keep the readable form.
      const values = control === 'shops' ? singleOption : normalized
      for (const value of values.getAll(name)) query.append(name, value)
    } catch (error) {
      if (!(error instanceof BadOptionError)) throw error
      errors.set(name, error.publicMessage)
    }
  }
  return { query, widgetQuery: isSentence(query) ? toSentenceQuery(query) : query, errors }
}

function normalizeOptions(
  kind: WidgetKind,
  query: URLSearchParams,
  defaults: OptionDefaults,
): URLSearchParams {
  const options = OPTION_PARSERS[kind](query, defaults, 'fragment')
  return new URLSearchParams(toQuery(kind, options, defaults, 'fragment'))
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
