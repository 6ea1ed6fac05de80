import MiniSearch from 'minisearch'

/** A page of search.json. */
export type SearchPage = Readonly<{
  path: string
  title: string
  sections: readonly Readonly<{ anchor: string; heading: string; text: string }>[]
}>

export type SearchHit = Readonly<{ href: string; heading: string; text: string }>

/** A page with its best sections, best first. */
export type SearchResult = Readonly<{ path: string; title: string; hits: readonly SearchHit[] }>

const MAX_PAGES = 8
const MAX_SECTIONS = 3
/** A whole name in a query counts for more than all its words together. */
const NAME_BOOST = 8

/** Words of questions that say nothing about the answer. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  'a an and are as at be by can could do does for from has have how i if in into is it its may me my of on or our own s should so that the their them there they this to use was we what when where which who why will with would you your vitrine need instead get'.split(
    ' ',
  ),
)

/** Words of readers for words of the documentation. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  old: ['age'],
  postgresql: ['database'],
  postgres: ['database'],
  hide: ['exclude'],
  down: ['fails', 'lost'],
  update: ['upgrade'],
  stylesheet: ['css'],
  newsletter: ['mail'],
  rollback: ['roll', 'back'],
  mode: ['theme'],
}

/** Names of settings, properties and metrics, such as `VITRINE_JSON`, `--vitrine-accent` and `max_price`. */
const NAME = /[\p{L}\p{N}]+(?:[-_]+[\p{L}\p{N}]+)+/gu

const isName = (term: string): boolean => /[-_]/.test(term)

type Document = Readonly<{ id: number; page: string; heading: string; text: string }>

/** Create the search over all sections. It takes a question or a few words, and forgives endings and typing errors. */
export function createSearch(pages: readonly SearchPage[]): (query: string) => readonly SearchResult[] {
  const entries = pages.flatMap((page) => page.sections.map((section) => ({ page, section })))
  const index = new MiniSearch<Document>({
    fields: ['page', 'heading', 'text'],
    tokenize: toTokens,
    processTerm: toTerm,
    searchOptions: {
      boost: { page: 2.5, heading: 4 },
      prefix: (term) => term.length > 2,
      // The words of a name are terms too, and forgive typing errors.
      fuzzy: (term) => (term.length > 4 && !isName(term) ? 0.2 : false),
      boostTerm: (term) => (isName(term) ? NAME_BOOST : 1),
      weights: { prefix: 0.4, fuzzy: 0.2 },
    },
  })
  index.addAll(
    entries.map(({ page, section }, id) => ({
      id,
      page: page.title,
      heading: section.anchor === '' ? '' : section.heading,
      text: section.text,
    })),
  )
  const weights = entries.map(toWeight)
  return (query) => {
    const found = index.search(withSynonyms(query), {
      combineWith: 'OR',
      boostDocument: (id) => weights[id as number] ?? 1,
    })
    return groupByPage(found.flatMap(({ id }) => entries[id as number] ?? []))
  }
}

/**
 * Readers seldom look for records and fields, and the changelog has every word. The row of a setting is found by its name; words
 * that it has by chance count less.
 */
function toWeight({ page, section }: Entry): number {
  return /^contribute\/|changelog|openapi/.test(page.path) || /^VITRINE_\w+$/.test(section.heading) ? 0.5 : 1
}

/** Return the words of a text, and its names also whole. */
function toTokens(text: string): string[] {
  return [...text.split(/[^\p{L}\p{M}\p{N}]+/u), ...(text.match(NAME) ?? [])]
}

/** Return the form in which a word is stored: without accents and common endings; `null` for a stop word. */
function toTerm(word: string): string | null {
  const term = word.toLowerCase().normalize('NFKD').replaceAll(/\p{M}/gu, '')
  if (term === '' || STOP_WORDS.has(term)) return null
  if (isName(term)) return term
  if (term.length > 5) return term.replace(/(?:(?<=...)at(?:ions?|ing|ed|es?)|ings?|ers?|ed|es|s|e)$/, '')
  return term.length > 3 ? term.replace(/s$/, '') : term
}

function withSynonyms(query: string): string {
  const words = query.toLowerCase().split(/[^\p{L}\p{N}]+/u)
  return [query, ...words.flatMap((word) => SYNONYMS[word] ?? [])].join(' ')
}

type Entry = Readonly<{ page: SearchPage; section: SearchPage['sections'][number] }>

function groupByPage(entries: readonly Entry[]): readonly SearchResult[] {
  const results = new Map<string, { path: string; title: string; hits: SearchHit[] }>()
  for (const { page, section } of entries) {
    const result = results.get(page.path) ?? { path: page.path, title: page.title, hits: [] }
    const hash = section.anchor === '' ? '' : `#${section.anchor}`
    if (result.hits.length < MAX_SECTIONS)
      result.hits.push({ href: page.path + hash, heading: section.heading, text: section.text })
    results.set(page.path, result)
  }
  return [...results.values()].slice(0, MAX_PAGES)
}
