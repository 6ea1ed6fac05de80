/** Addresses relative to the page, from paths in the folder of this version. */
type ToRoot = (path: string) => string

let dialog: SearchDialog | undefined

/** Open the search with the focus in its field at once; its program and index load behind it at the first time. */
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

  element.addEventListener('keydown', (event) => moveFocus(event, element, list))
  element.addEventListener('click', (event) => {
    // The backdrop, or a link to another section of this page.
    if (event.target === element || (event.target as Element).closest('a') !== null) element.close()
  })
  startResults({ input, status, list }, toRoot).catch(() => status.replaceChildren(...createFailure(toRoot)))
  return { element, input }
}

type Parts = Readonly<{ input: HTMLInputElement; status: HTMLElement; list: HTMLElement }>

/** Show the results of what is typed already, and of each change. */
async function startResults({ input, status, list }: Parts, toRoot: ToRoot): Promise<void> {
  const { loadSearch } = await import('./search.ts')
  const search = await loadSearch(toRoot)
  const update = (): void => {
    const query = input.value.trim()
    const results = query === '' ? [] : search(query)
    list.replaceChildren(...results)
    status.textContent = describe(query, results.length)
  }
  input.addEventListener('input', update)
  update()
}

function createFailure(toRoot: ToRoot): (Node | string)[] {
  const link = document.createElement('a')
  link.href = toRoot('contents.html')
  link.textContent = 'All pages'
  return ['The search cannot be loaded. See the list: ', link, '.']
}

function describe(query: string, count: number): string {
  if (query === '') return ''
  if (count === 0) return `Nothing found for “${query}”.`
  return count === 1 ? '1 page' : `${count} pages`
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
