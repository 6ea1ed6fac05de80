import { setImmediate } from 'node:timers/promises'
import { THEMES, type Theme } from '../../widgets/options.ts'
import { LANGUAGE_TAGS } from '../../widgets/locales/index.ts'
import { createParameterReader, parseOrDefault, withoutEmptyFields } from '../../widgets/parameters.ts'
import { GALLERY_ACCENT, GALLERY_CASES, type GalleryCase } from './cases.ts'
import {
  LAYOUTS,
  type Layout,
  type GalleryExample,
  createExample,
  hasExample,
  toLayoutId,
} from './examples.ts'

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
  const parseChoice = <T extends string>(name: string, options: readonly T[]): T | null =>
    parseOrDefault(() => reader.oneOf(name, options, null), null)
  return {
    layout: parseChoice('layout', LAYOUTS.map(toLayoutId)),
    theme: parseChoice('theme', THEMES),
    caseId: parseChoice(
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
  for (const layout of LAYOUTS.filter((layout) => isIncluded(selection.layout, toLayoutId(layout)))) {
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

function isIncluded(filter: string | null, id: string): boolean {
  return filter === null || filter === id
}

async function createCases(layout: Layout, details: GalleryDetails) {
  const { selection } = details
  const cases = []
  const included = GALLERY_CASES.filter(({ id }) => isIncluded(selection.caseId, id))
  for (const galleryCase of included.filter((entry) => hasExample(layout, entry))) {
    // Rendering all examples takes a second: let other requests run between two cases.
    await setImmediate()
    cases.push({
      id: `${toLayoutId(layout)}-${galleryCase.id}`,
      title: galleryCase.title,
      note: galleryCase.note,
      isNarrow: galleryCase.isNarrow,
      examples: THEMES.filter((theme) => isIncluded(selection.theme, theme)).map((theme) =>
        renderExample({ layout, galleryCase, theme }, details),
      ),
    })
  }
  return cases
}

function renderExample(
  { layout, galleryCase, theme }: Readonly<{ layout: Layout; galleryCase: GalleryCase; theme: Theme }>,
  { publicUrl, stylePath, selection: { locale, width }, render }: GalleryDetails,
) {
  const id = toLayoutId(layout)
  const query = new URLSearchParams({ layout: id, theme, case: galleryCase.id })
  if (locale !== 'en') query.set('locale', locale)
  if (width !== 'phone') query.set('width', width)
  return {
    id: `${id}-${galleryCase.id}-${theme}`,
    theme,
    href: `${publicUrl}/studio/gallery?${query.toString()}`,
    html: render(createExample(layout, galleryCase, { publicUrl, stylePath, theme, locale })),
  }
}

type SelectOption = Readonly<{ value: string; text: string }>

const ALL: SelectOption = { value: '', text: 'All' }

function listControls(selection: GalleryDetails['selection']) {
  const caseOptions = GALLERY_CASES.map(({ id, title }) => ({ value: id, text: title }))
  return [
    toControl('layout', 'Layout', [ALL, ...LAYOUTS.map(toLayoutId).map(toSelectOption)], selection.layout),
    toControl('theme', 'Theme', [ALL, ...THEMES.map(toSelectOption)], selection.theme),
    toControl('case', 'Case', [ALL, ...caseOptions], selection.caseId),
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
