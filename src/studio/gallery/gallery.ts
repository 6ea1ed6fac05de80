import { setImmediate } from 'node:timers/promises'
import { THEMES, type Theme } from '../../widgets/options.ts'
import { LANGUAGE_TAGS } from '../../widgets/locales/index.ts'
import { createParameterReader, readOr, toGivenFields } from '../../widgets/parameters.ts'
import { GALLERY_ACCENT, GALLERY_CASES, type GalleryCase } from './cases.ts'
import { LAYOUTS, type Layout, type Specimen, makeSpecimen, toLayoutId } from './specimens.ts'

/** Columns that a specimen can stand in. */
const WIDTHS = ['phone', 'article', 'page'] as const

/** What the gallery is made with. */
export type GalleryDetails = Readonly<{
  publicUrl: string
  /** Paths of the style sheets of widgets and page, and of the page's script. */
  stylePath: string
  pageStylePath: string
  scriptPath: string
  choice: ReturnType<typeof parseGalleryChoice>
  /** A specimen as a fragment. */
  render(specimen: Specimen): string
}>

/** Parse what of the gallery is shown; `null`: all of it. What cannot be read counts as not given. */
export function parseGalleryChoice(query: URLSearchParams) {
  const reader = createParameterReader(toGivenFields(query))
  const find = <T extends string>(name: string, words: readonly T[]): T | null =>
    readOr(() => reader.word(name, words, null), null)
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

/** What the template of the gallery takes. */
export type GalleryView = Awaited<ReturnType<typeof toGalleryView>>

/** Build the view of the gallery: for each chosen layout and case one specimen for each theme. */
export async function toGalleryView(details: GalleryDetails) {
  const { publicUrl, stylePath, pageStylePath, choice } = details
  const groups = []
  for (const layout of LAYOUTS.filter((layout) => isChosen(choice.layout, toLayoutId(layout)))) {
    const title = `${layout.widget === 'deals' ? 'Deals' : 'Where to buy'}, ${layout.name}`
    groups.push({ id: toLayoutId(layout), title, cases: await makeCases(layout, details) })
  }
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

async function makeCases(layout: Layout, details: GalleryDetails) {
  const { choice } = details
  const cases = []
  for (const entry of GALLERY_CASES.filter(({ id }) => isChosen(choice.caseId, id))) {
    // All specimens take a second: other requests have a turn between two cases.
    await setImmediate()
    cases.push({
      id: `${toLayoutId(layout)}-${entry.id}`,
      title: entry.title,
      note: entry.note,
      isNarrow: entry.isNarrow,
      specimens: THEMES.filter((theme) => isChosen(choice.theme, theme)).map((theme) =>
        renderSpecimen({ layout, entry, theme }, details),
      ),
    })
  }
  return cases
}

function renderSpecimen(
  { layout, entry, theme }: Readonly<{ layout: Layout; entry: GalleryCase; theme: Theme }>,
  { publicUrl, stylePath, choice, render }: GalleryDetails,
) {
  const id = toLayoutId(layout)
  const query = new URLSearchParams({ layout: id, theme, case: entry.id })
  if (choice.locale !== 'en') query.set('locale', choice.locale)
  if (choice.width !== 'phone') query.set('width', choice.width)
  return {
    id: `${id}-${entry.id}-${theme}`,
    theme,
    href: `${publicUrl}/studio/gallery?${query.toString()}`,
    html: render(makeSpecimen(layout, entry, { publicUrl, stylePath, theme, locale: choice.locale })),
  }
}

type Word = Readonly<{ value: string; text: string }>

const ALL: Word = { value: '', text: 'All' }

function listControls(choice: GalleryDetails['choice']) {
  const cases = GALLERY_CASES.map(({ id, title }) => ({ value: id, text: title }))
  return [
    toControl('layout', 'Layout', [ALL, ...LAYOUTS.map(toLayoutId).map(toWord)], choice.layout),
    toControl('theme', 'Theme', [ALL, ...THEMES.map(toWord)], choice.theme),
    toControl('case', 'Case', [ALL, ...cases], choice.caseId),
    toControl('locale', 'Language', LANGUAGE_TAGS.map(toWord), choice.locale),
    toControl('width', 'Column', WIDTHS.map(toWord), choice.width),
  ]
}

function toControl(name: string, label: string, words: readonly Word[], chosen: string | null) {
  return { name, label, options: words.map((word) => ({ ...word, isChosen: word.value === (chosen ?? '') })) }
}

function toWord(value: string): Word {
  return { value, text: value }
}
