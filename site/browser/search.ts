import {
  STOP_WORDS,
  type SearchHit,
  type SearchPage,
  type SearchResult,
  createSearch,
} from './search-index.ts'

const EXCERPT_CHARACTERS = 150

type ToRoot = (path: string) => string

/** Load the index. Return the search: the results of a query as elements of a list, best first. */
export async function loadSearch(toRoot: ToRoot): Promise<(query: string) => readonly HTMLElement[]> {
  const response = await fetch(toRoot('search.json'))
  const search = createSearch((await response.json()) as SearchPage[])
  return (query) => search(query).map((result) => createResult(result, query, toRoot))
}

function createResult({ title, hits }: SearchResult, query: string, toRoot: ToRoot): HTMLElement {
  const item = document.createElement('li')
  const name = document.createElement('p')
  name.className = 'result-page'
  name.textContent = title
  item.append(name, ...hits.map((hit) => createHit(hit, query, toRoot)))
  return item
}

function createHit({ href, heading, text }: SearchHit, query: string, toRoot: ToRoot): HTMLElement {
  const link = document.createElement('a')
  link.href = toRoot(href)
  const title = document.createElement('b')
  title.textContent = heading
  const excerpt = document.createElement('span')
  excerpt.append(...markWords(toExcerpt(text, query), query))
  link.append(title, ' ', excerpt)
  return link
}

const toWords = (query: string): readonly string[] =>
  query
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 2 && !STOP_WORDS.has(word))
    .map((word) => word.replace(/(?:s|ing|ed)$/, ''))

/** Return the part of a text that begins a little before the longest word of the query. */
function toExcerpt(text: string, query: string): string {
  const lower = text.toLowerCase()
  const words = [...toWords(query)].sort((a, b) => b.length - a.length)
  const first = lower.indexOf(words.find((word) => lower.includes(word)) ?? '')
  const start = first < 60 ? 0 : lower.lastIndexOf(' ', first - 40) + 1
  const isCut = start + EXCERPT_CHARACTERS < text.length
  const excerpt = text.slice(start, start + EXCERPT_CHARACTERS)
  return `${start > 0 ? '… ' : ''}${isCut ? excerpt.replace(/\s+\S*$/, ' …') : excerpt}`
}

function markWords(text: string, query: string): (Node | string)[] {
  const words = toWords(query)
  if (words.length === 0) return [text]
  return text.split(new RegExp(`(?<!\\p{L})((?:${words.join('|')})\\p{L}*)`, 'iu')).map((part, index) => {
    if (index % 2 === 0) return part
    const mark = document.createElement('mark')
    mark.textContent = part
    return mark
  })
}
