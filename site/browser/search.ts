import {
  STOP_WORDS,
  type SearchHit,
  type SearchPage,
  type SearchResult,
  createSearch,
} from './search-index.ts'

const EXCERPT_CHARACTERS = 150

type ToRoot = (path: string) => string

let dialog: SearchDialog | undefined

/** Open the search, and load its index at the first time. */
export function openSearch(toRoot: ToRoot): void {
  dialog ??= createDialog(toRoot)
  if (!dialog.element.open) dialog.element.showModal()
  dialog.input.select()
}

type SearchDialog = Readonly<{ element: HTMLDialogElement; input: HTMLInputElement }>

function createDialog(toRoot: ToRoot): SearchDialog {
  const element = document.createElement('dialog')
  element.className = 'search'
  element.setAttribute('aria-label', 'Search')
  element.innerHTML = `<form method="dialog" role="search">
<input type="search" aria-label="Search the documentation" placeholder="A question or a few words" autocomplete="off" spellcheck="false" autofocus>
<button type="submit" class="button" formnovalidate>Close</button>
</form>
<p class="search-status" role="status"></p>
<ol class="results"></ol>`
  const input = element.querySelector('input') as HTMLInputElement
  const status = element.querySelector('[role="status"]') as HTMLElement
  const list = element.querySelector('ol') as HTMLElement
  document.body.append(element)

  const isLoaded = loadSearch(toRoot)
  const update = async (): Promise<void> => {
    const search = await isLoaded
    const query = input.value.trim()
    const results = query === '' ? [] : search(query)
    list.replaceChildren(...results.map((result) => createResult(result, query, toRoot)))
    status.textContent = describe(query, results.length)
  }
  const fail = (): void => {
    status.textContent = 'The search cannot be loaded. See the list of all pages at the end of this page.'
  }
  input.addEventListener('input', () => void update().catch(fail))
  element.addEventListener('keydown', (event) => moveFocus(event, element, list))
  element.addEventListener('click', (event) => {
    // The backdrop, or a link to another section of this page.
    if (event.target === element || (event.target as Element).closest('a') !== null) element.close()
  })
  isLoaded.catch(fail)
  return { element, input }
}

async function loadSearch(toRoot: ToRoot): Promise<ReturnType<typeof createSearch>> {
  const response = await fetch(toRoot('search.json'))
  return createSearch((await response.json()) as SearchPage[])
}

function describe(query: string, count: number): string {
  if (query === '') return ''
  if (count === 0) return `Nothing found for “${query}”.`
  return count === 1 ? '1 page' : `${count} pages`
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

/** Arrow keys move between the field and the results; Enter in the field opens the first; Escape closes at once. */
function moveFocus(event: KeyboardEvent, element: HTMLDialogElement, list: HTMLElement): void {
  const stops = [...element.querySelectorAll<HTMLElement>('input, .results a')]
  const index = stops.indexOf(document.activeElement as HTMLElement)
  if (event.key === 'Enter' && index === 0) {
    event.preventDefault()
    list.querySelector('a')?.click()
  }
  if (event.key === 'Escape') element.close()
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step === undefined) return
  event.preventDefault()
  stops[Math.max(0, Math.min(stops.length - 1, index + step))]?.focus()
}
