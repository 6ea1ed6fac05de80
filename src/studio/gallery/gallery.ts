import { setImmediate } from 'node:timers/promises'
import { LANGUAGE_TAGS } from '../../widgets/locales/index.ts'
import { createParameterReader, parseOrDefault, withoutEmptyFields } from '../../widgets/parameters.ts'
import { listTabs } from '../studio.ts'
import { GALLERY_ACCENT, GALLERY_CASES, type GalleryCase, MAGAZINE_ACCENT } from './cases.ts'
import {
  GALLERY_THEMES,
  LAYOUTS,
  type GalleryTheme,
  type Layout,
  createExample,
  hasExample,
  toLayoutId,
} from './examples.ts'
import type { AnyView } from '../../widgets/view-models.ts'

const COLUMN_WIDTHS = ['phone', 'article', 'page'] as const

/** Value of the filter "layout" for every layout. */
const ALL = 'all'

/** Largest HTML of a page, in bytes. The examples after it are on the next page. */
const MAX_PAGE_BYTES = 290_000
/** HTML around an example, and of the rest of the page. */
const BYTES_AROUND_EXAMPLE = 900
const BYTES_AROUND_EXAMPLES = 9_000

export type GalleryOptions = Readonly<{
  publicUrl: string
  stylePath: string
  pageStylePath: string
  scriptPath: string
  /** Whether the studio has the tab for feeds. */
  hasFeeds: boolean
  selection: GallerySelection
  render(example: AnyView): string
}>

type GallerySelection = ReturnType<typeof parseGallerySelection>

/**
 * Parse the filters of the gallery. Invalid values count as absent; `null` means all. Without a layout, the first one is
 * shown, and every layout if there is a case. `from` is the number of examples to leave out.
 */
export function parseGallerySelection(query: URLSearchParams) {
  const read = createParameterReader(withoutEmptyFields(query))
  const parseChoice = <T extends string>(name: string, options: readonly T[]): T | null =>
    parseOrDefault(() => read(name, options), null)
  const [firstLayout = ALL, ...otherLayouts] = LAYOUTS.map(toLayoutId)
  const caseId = parseChoice(
    'case',
    GALLERY_CASES.map(({ id }) => id),
  )
  const layout =
    parseChoice('layout', [firstLayout, ...otherLayouts, ALL]) ?? (caseId === null ? firstLayout : ALL)
  return {
    layout: layout === ALL ? null : layout,
    /** `null`: light and dark. */
    theme: parseChoice('theme', GALLERY_THEMES),
    caseId,
    locale: parseOrDefault(() => read('locale', 'language') ?? 'en', 'en'),
    width: parseOrDefault(() => read('width', COLUMN_WIDTHS) ?? 'article', 'article'),
    from: parseOrDefault(() => read('from', { min: 0, max: 999 }) ?? 0, 0),
  }
}

export type GalleryView = Awaited<ReturnType<typeof toGalleryView>>

export async function toGalleryView(options: GalleryOptions) {
  const { publicUrl, stylePath, pageStylePath, selection, hasFeeds } = options
  const { entries, next } = await renderEntries(options)
  const toHref = (from: number): string => `gallery?${toSelectionQuery(selection, from).toString()}`
  return {
    styles: [
      pageStylePath,
      stylePath,
      ...[GALLERY_ACCENT, MAGAZINE_ACCENT].map((hex) => `/accents/${hex}.css`),
    ].map((path) => `${publicUrl}${path}`),
    script: `${publicUrl}${options.scriptPath}`,
    studioHref: '../studio',
    tabs: listTabs(hasFeeds).map(({ tab, text }) => ({
      text,
      href: tab === 'where-to-buy' ? '../studio' : `../studio?tab=${tab}`,
      isSelected: false,
    })),
    width: selection.width,
    controls: listControls(selection),
    groups: LAYOUTS.map((layout) => ({
      id: toLayoutId(layout),
      title: toTitle(layout),
      cases: entries.filter((entry) => entry.layout === layout),
    })).filter(({ cases }) => cases.length > 0),
    /** Links to the other pages of a long selection; `null`: none. */
    firstHref: selection.from > 0 ? toHref(0) : null,
    nextHref: next === null ? null : toHref(next),
  }
}

const WIDGET_TITLES = { 'where-to-buy': 'Where to buy', picks: 'Round-up', deals: 'Deals' } as const

function toTitle({ widget, name }: Layout): string {
  return `${WIDGET_TITLES[widget]}, ${name}`
}

type CaseInLayout = Readonly<{ layout: Layout; galleryCase: GalleryCase }>

function listCases({ layout, caseId }: GallerySelection): readonly CaseInLayout[] {
  const layouts = LAYOUTS.filter((one) => layout === null || toLayoutId(one) === layout)
  const cases = GALLERY_CASES.filter(({ id }) => caseId === null || id === caseId)
  return layouts.flatMap((one) =>
    cases
      .filter((galleryCase) => hasExample(one, galleryCase))
      .map((galleryCase) => ({ layout: one, galleryCase })),
  )
}

/** Render selected cases until the page is full. `next`: the first case that is left out. */
async function renderEntries(options: GalleryOptions) {
  const { from } = options.selection
  const entries: CaseView[] = []
  let bytes = BYTES_AROUND_EXAMPLES
  for (const one of listCases(options.selection).slice(from)) {
    // Rendering all examples takes a second: let other requests run between two cases.
    await setImmediate()
    const entry = createCaseView(one, options)
    for (const { html } of entry.examples) bytes += Buffer.byteLength(html) + BYTES_AROUND_EXAMPLE
    if (bytes > MAX_PAGE_BYTES && entries.length > 0) return { entries, next: from + entries.length }
    entries.push(entry)
  }
  return { entries, next: null }
}

type CaseView = ReturnType<typeof createCaseView>

function createCaseView({ layout, galleryCase }: CaseInLayout, options: GalleryOptions) {
  const { selection } = options
  const { id, title, note, isNarrow } = galleryCase
  return {
    layout,
    id: `${toLayoutId(layout)}-${id}`,
    title,
    note,
    isNarrow,
    everyLayoutHref: selection.layout === null ? null : `gallery?case=${id}`,
    examples: listThemes(selection, galleryCase).map((theme) =>
      renderExample({ layout, galleryCase, theme }, options),
    ),
  }
}

/** Without a theme: light and dark, and the theme of a magazine for the usual case. */
function listThemes({ theme }: GallerySelection, { id }: GalleryCase): readonly GalleryTheme[] {
  if (theme !== null) return [theme]
  return id === GALLERY_CASES[0]?.id ? ['light', 'dark', 'magazine'] : ['light', 'dark']
}

function renderExample(
  { layout, galleryCase, theme }: CaseInLayout & Readonly<{ theme: GalleryTheme }>,
  { publicUrl, stylePath, selection, render }: GalleryOptions,
) {
  const id = toLayoutId(layout)
  const { locale } = selection
  const query = toSelectionQuery({ ...selection, layout: id, theme, caseId: galleryCase.id }, 0)
  return {
    id: `${id}-${galleryCase.id}-${theme}`,
    theme,
    label: THEME_LABELS[theme],
    href: `${publicUrl}/studio/gallery?${query.toString()}`,
    html: render(createExample(layout, galleryCase, { publicUrl, stylePath, theme, locale })),
  }
}

function toSelectionQuery(
  { layout, theme, caseId, locale, width }: GallerySelection,
  from: number,
): URLSearchParams {
  const query = new URLSearchParams({ layout: layout ?? ALL })
  if (theme !== null) query.set('theme', theme)
  if (caseId !== null) query.set('case', caseId)
  if (locale !== 'en') query.set('locale', locale)
  if (width !== 'article') query.set('width', width)
  if (from > 0) query.set('from', String(from))
  return query
}

type SelectOption = Readonly<{ value: string; text: string }>

const THEME_LABELS: Readonly<Record<GalleryTheme, string>> = {
  auto: 'Auto: as the page',
  light: 'Light',
  dark: 'Dark',
  magazine: 'A magazine’s own theme',
}

function listControls(selection: GallerySelection) {
  const layouts = [
    ...LAYOUTS.map((layout) => ({ value: toLayoutId(layout), text: toTitle(layout) })),
    { value: ALL, text: 'Every layout' },
  ]
  const cases = [
    { value: '', text: 'Every case' },
    ...GALLERY_CASES.map(({ id, title }) => ({ value: id, text: title })),
  ]
  const themes = [
    { value: '', text: 'Light and dark' },
    ...GALLERY_THEMES.map((theme) => ({ value: theme, text: THEME_LABELS[theme] })),
  ]
  const languages = new Intl.DisplayNames('en', { type: 'language' })
  const locales = LANGUAGE_TAGS.map((value) => ({ value, text: languages.of(value) ?? value }))
  const widths = [
    { value: 'article', text: 'Article' },
    { value: 'phone', text: 'Phone' },
    { value: 'page', text: 'Whole page' },
  ]
  return [
    toControl('layout', 'Layout', layouts, selection.layout ?? ALL),
    toControl('case', 'Case', cases, selection.caseId),
    toControl('theme', 'Theme', themes, selection.theme),
    toControl('locale', 'Language', locales, selection.locale),
    toControl('width', 'Column', widths, selection.width),
  ]
}

function toControl(name: string, label: string, options: readonly SelectOption[], selected: string | null) {
  return {
    name,
    label,
    options: options.map((option) => ({ ...option, isSelected: option.value === (selected ?? '') })),
  }
}
