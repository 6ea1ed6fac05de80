import { setImmediate } from 'node:timers/promises'
import { THEMES, type Theme } from '../../widgets/options.ts'
import { LANGUAGE_TAGS } from '../../widgets/locales/index.ts'
import { createParameterReader, readOr, toGivenFields } from '../../widgets/parameters.ts'
import type { GalleryGroupView, GalleryView } from '../../widgets/view-models.ts'
import { GALLERY_ACCENT, GALLERY_CASES, type GalleryCase } from './cases.ts'
import { LAYOUTS, type Layout, type Specimen, makeSpecimen, toLayoutId } from './specimens.ts'

/** Columns that a specimen can stand in. */
const WIDTHS = ['phone', 'article', 'page'] as const

/** What of the gallery is shown; `null`: all of it. */
export type GalleryChoice = Readonly<{
  layout: string | null
  theme: Theme | null
  caseId: string | null
  locale: string
  width: (typeof WIDTHS)[number]
}>

/** What the gallery is made with. */
export type GalleryDetails = Readonly<{
  publicUrl: string
  /** Paths of the style sheets of widgets and page, and of the page's script. */
  stylePath: string
  pageStylePath: string
  scriptPath: string
  choice: GalleryChoice
  /** A specimen as a fragment. */
  render(specimen: Specimen): string
}>

/** Reads the gallery's own query; what cannot be read counts as not given. */
export function parseGalleryChoice(query: URLSearchParams): GalleryChoice {
  const reader = createParameterReader(toGivenFields(query))
  const find = <T extends string>(name: string, words: readonly T[]): T | null => {
    const word = readOr(() => reader.word<T | ''>(name, ['', ...words], ''), '')
    return word === '' ? null : word
  }
  return {
    layout: find('layout', LAYOUTS.map(toLayoutId)),
    theme: find('theme', THEMES),
    caseId: find(
      'case',
      GALLERY_CASES.map(({ id }) => id),
    ),
    locale: readOr(() => reader.locale('locale', 'en'), 'en'),
    width: readOr(() => reader.word('width', WIDTHS, 'phone'), 'phone'),
  }
}

/**
 * The view of the gallery: for each chosen layout and case one specimen a theme. Between two cases whoever else waits for
 * the process has a turn: all of them together take a second.
 */
export async function toGalleryView(details: GalleryDetails): Promise<GalleryView> {
  const { publicUrl, stylePath, pageStylePath, choice } = details
  const layouts = LAYOUTS.filter((layout) => isChosen(choice.layout, toLayoutId(layout)))
  const groups: GalleryGroupView[] = []
  for (const layout of layouts) groups.push(await toGroup(layout, details))
  return {
    styles: [
      `${publicUrl}${pageStylePath}`,
      `${publicUrl}${stylePath}`,
      `${publicUrl}/accents/${GALLERY_ACCENT}.css`,
    ],
    script: `${publicUrl}${details.scriptPath}`,
    studioUrl: '..',
    width: choice.width,
    controls: listControls(choice),
    groups,
  }
}

function isChosen(chosen: string | null, id: string): boolean {
  return chosen === null || chosen === id
}

async function toGroup(layout: Layout, details: GalleryDetails): Promise<GalleryGroupView> {
  const id = toLayoutId(layout)
  const { choice } = details
  const cases: GalleryGroupView['cases'][number][] = []
  for (const entry of GALLERY_CASES.filter((entry) => isChosen(choice.caseId, entry.id))) {
    await setImmediate()
    cases.push({
      id: `${id}-${entry.id}`,
      title: entry.title,
      note: entry.note,
      isNarrow: entry.isNarrow,
      specimens: THEMES.filter((theme) => isChosen(choice.theme, theme)).map((theme) =>
        toSpecimenView({ layout, entry, theme }, details),
      ),
    })
  }
  return { id, title: `${layout.widget === 'deals' ? 'Deals' : 'Where to buy'}, ${layout.name}`, cases }
}

function toSpecimenView(
  { layout, entry, theme }: Readonly<{ layout: Layout; entry: GalleryCase; theme: Theme }>,
  { publicUrl, stylePath, choice, render }: GalleryDetails,
): GalleryGroupView['cases'][number]['specimens'][number] {
  const id = toLayoutId(layout)
  const query = new URLSearchParams({ layout: id, theme, case: entry.id })
  if (choice.locale !== 'en') query.set('locale', choice.locale)
  if (choice.width !== 'phone') query.set('width', choice.width)
  const specimen = makeSpecimen(layout, entry, { publicUrl, stylePath, theme, locale: choice.locale })
  return {
    id: `${id}-${entry.id}-${theme}`,
    theme,
    href: `${publicUrl}/studio/gallery?${query.toString()}`,
    html: render(specimen),
  }
}

type Value = Readonly<{ value: string; text: string }>

const ALL: Value = { value: '', text: 'All' }

function listControls(choice: GalleryChoice): GalleryView['controls'] {
  const layouts = LAYOUTS.map((layout) => toPlain(toLayoutId(layout)))
  const cases = GALLERY_CASES.map(({ id, title }) => ({ value: id, text: title }))
  return [
    { name: 'layout', label: 'Layout', options: toOptions([ALL, ...layouts], choice.layout) },
    { name: 'theme', label: 'Theme', options: toOptions([ALL, ...THEMES.map(toPlain)], choice.theme) },
    { name: 'case', label: 'Case', options: toOptions([ALL, ...cases], choice.caseId) },
    { name: 'locale', label: 'Language', options: toOptions(LANGUAGE_TAGS.map(toPlain), choice.locale) },
    { name: 'width', label: 'Column', options: toOptions(WIDTHS.map(toPlain), choice.width) },
  ]
}

function toOptions(
  values: readonly Value[],
  chosen: string | null,
): GalleryView['controls'][number]['options'] {
  return values.map(({ value, text }) => ({ value, text, isChosen: value === (chosen ?? '') }))
}

function toPlain(value: string): Value {
  return { value, text: value }
}
