import { setImmediate } from 'node:timers/promises'
import { THEMES, type Theme } from '../../widgets/options.ts'
import { LANGUAGE_TAGS } from '../../widgets/locales/index.ts'
import { createParameterReader, parseOrDefault, withoutEmptyFields } from '../../widgets/parameters.ts'
import { GALLERY_ACCENT, GALLERY_CASES, type GalleryCase } from './cases.ts'
import { LAYOUTS, type Layout, type GalleryExample, createExample, toLayoutId } from './examples.ts'

const COLUMN_WIDTHS = ['phone', 'article', 'page'] as const

export type GalleryDetails = Readonly<{
  publicUrl: string
  stylePath: string
  pageStylePath: string
  scriptPath: string
  selection: ReturnType<typeof parseGallerySelection>
  render(example: GalleryExample): string
}>

/** Parse the filters of the gallery; `null` means all. Invalid values count as absent. */
export function parseGallerySelection(query: URLSearchParams) {
  const reader = createParameterReader(withoutEmptyFields(query))
  const parseWord = <T extends string>(name: string, options: readonly T[]): T | null =>
    parseOrDefault(() => reader.oneOf(name, options, null), null)
  return {
    layout: parseWord('layout', LAYOUTS.map(toLayoutId)),
    theme: parseWord('theme', THEMES),
    caseId: parseWord(
      'case',
      GALLERY_CASES.map(({ id }) => id),
    ),
    locale: parseOrDefault(() => reader.locale('locale', 'en'), 'en'),
    width: parseOrDefault(() => reader.oneOf('width', COLUMN_WIDTHS, 'phone'), 'phone'),
  }
}

export type GalleryView = Awaited<ReturnType<typeof toGalleryView>>

export async function toGalleryView(details: GalleryDetails) {
  const { publicUrl, stylePath, pageStylePath, selection } = details
  const groups = []
  for (const layout of LAYOUTS.filter((layout) => isSelected(selection.layout, toLayoutId(layout)))) {
    const title = `${layout.widget === 'deals' ? 'Deals' : 'Where to buy'}, ${layout.name}`
    groups.push({ id: toLayoutId(layout), title, cases: await createCases(layout, details) })
  }
  return {
    styles: [
      `${publicUrl}${pageStylePath}`,
      `${publicUrl}${stylePath}`,
      `${publicUrl}/accents/${GALLERY_ACCENT}.css`,
    ],
    script: `${publicUrl}${details.scriptPath}`,
    studioUrl: '..',
    width: selection.width,
    controls: listControls(selection),
    groups,
  }
}

function isSelected(selected: string | null, id: string): boolean {
  return selected === null || selected === id
}

async function createCases(layout: Layout, details: GalleryDetails) {
  const { selection } = details
  const cases = []
  for (const entry of GALLERY_CASES.filter(({ id }) => isSelected(selection.caseId, id))) {
    // All examples take a second, so yield to other requests between two cases.
    await setImmediate()
    cases.push({
      id: `${toLayoutId(layout)}-${entry.id}`,
      title: entry.title,
      note: entry.note,
      isNarrow: entry.isNarrow,
      examples: THEMES.filter((theme) => isSelected(selection.theme, theme)).map((theme) =>
        renderExample({ layout, entry, theme }, details),
      ),
    })
  }
  return cases
}

function renderExample(
  { layout, entry, theme }: Readonly<{ layout: Layout; entry: GalleryCase; theme: Theme }>,
  { publicUrl, stylePath, selection, render }: GalleryDetails,
) {
  const id = toLayoutId(layout)
  const query = new URLSearchParams({ layout: id, theme, case: entry.id })
  if (selection.locale !== 'en') query.set('locale', selection.locale)
  if (selection.width !== 'phone') query.set('width', selection.width)
  return {
    id: `${id}-${entry.id}-${theme}`,
    theme,
    href: `${publicUrl}/studio/gallery?${query.toString()}`,
    html: render(createExample(layout, entry, { publicUrl, stylePath, theme, locale: selection.locale })),
  }
}

type SelectOption = Readonly<{ value: string; text: string }>

const ALL: SelectOption = { value: '', text: 'All' }

function listControls(selection: GalleryDetails['selection']) {
  const cases = GALLERY_CASES.map(({ id, title }) => ({ value: id, text: title }))
  return [
    toControl('layout', 'Layout', [ALL, ...LAYOUTS.map(toLayoutId).map(toSelectOption)], selection.layout),
    toControl('theme', 'Theme', [ALL, ...THEMES.map(toSelectOption)], selection.theme),
    toControl('case', 'Case', [ALL, ...cases], selection.caseId),
    toControl('locale', 'Language', LANGUAGE_TAGS.map(toSelectOption), selection.locale),
    toControl('width', 'Column', COLUMN_WIDTHS.map(toSelectOption), selection.width),
  ]
}

function toControl(name: string, label: string, options: readonly SelectOption[], selected: string | null) {
  return {
    name,
    label,
    options: options.map((option) => ({ ...option, isSelected: option.value === (selected ?? '') })),
  }
}

function toSelectOption(value: string): SelectOption {
  return { value, text: value }
}
