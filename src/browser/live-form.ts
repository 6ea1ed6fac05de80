import { loadPage, showNoResponse, showPage } from './live-page.ts'

/** Delay after typing before the change is applied. */
const TYPING_MS = 300

/** The lists that buttons change. */
const LISTS = '#list, #candidates, #box-list'

/**
 * Apply changed options and lists at once: the server renders the page of the new selection, and this page becomes equal to it,
 * so that focus and scroll position stay. When that fails, the page is loaded.
 */
export function prepareLiveForm(form: HTMLFormElement): void {
  let timer = 0
  let latestRequest = 0

  /** Responses and failures can arrive out of order; only those of the last request count. */
  const show = async (source?: HTMLElement): Promise<void> => {
    clearTimeout(timer)
    latestRequest += 1
    const request = latestRequest
    const url = `${form.action}?${toQuery(form, source)}`
    const page = await loadPage(url).catch(() => undefined)
    if (request !== latestRequest) return
    if (page === undefined) showNoResponse()
    // The page of the address has the reason.
    else if (page === null) location.assign(url)
    else {
      const targets = [document.activeElement?.id ?? '', ...(source ? listFocusTargets(source) : [])]
      showPage(page)
      if (document.activeElement?.matches('body, :disabled')) focusFirst(targets)
    }
  }

  // One after the other: each change begins with the list that the previous one has left.
  let lastChange = Promise.resolve()
  const change = (source: HTMLElement): void =>
    void (lastChange = lastChange.then(() => show(source)).catch(showNoResponse))
  const refresh = (): void => void lastChange.then(() => show())
  form.addEventListener('submit', (event) => {
    const { activeElement } = document
    const source = findSource(event.submitter, activeElement)
    if (source === null && !isOption(activeElement)) return
    event.preventDefault()
    if (source === null) refresh()
    else change(source)
  })
  // Fields anywhere on the page belong to the form by its id.
  document.addEventListener('change', ({ target }) => {
    if (!isField(target) || target.form !== form) return
    if (!('reloadsPage' in target.dataset)) refresh()
    else if (target instanceof HTMLSelectElement) form.requestSubmit()
  })
  document.addEventListener('input', ({ target }) => {
    if (!isOption(target) || !(target instanceof HTMLInputElement) || target.type === 'checkbox') return
    clearTimeout(timer)
    timer = window.setTimeout(refresh, TYPING_MS)
  })
}

function isField(target: unknown): target is HTMLInputElement | HTMLSelectElement {
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement
}

/** Whether a change of the field keeps channel and search. */
function isOption(target: unknown): target is HTMLInputElement | HTMLSelectElement {
  return isField(target) && target.form !== null && !('reloadsPage' in target.dataset)
}

/**
 * Find the button or the search that changes or searches a list; `null`: the submit has another reason. The Enter key in a
 * field has the first button of the form as its submitter.
 */
function findSource(submitter: HTMLElement | null, activeElement: Element | null): HTMLElement | null {
  if (submitter instanceof HTMLButtonElement && submitter.name !== '') return submitter
  if (isOption(activeElement)) return null
  const elements = [activeElement, submitter].filter((one) => one instanceof HTMLElement)
  return elements.find(({ dataset }) => 'swaps' in dataset) ?? null
}

/** The element itself, or what stands for it if it is gone or disabled then: see the ids in views/partials/studio-*.eta. */
function listFocusTargets({ id, parentElement }: HTMLElement): readonly string[] {
  const [verb = '', gtin = ''] = id.split(/-(?=\d)/)
  const others: Readonly<Record<string, string>> = { add: 'found', up: 'down', down: 'up' }
  const list = parentElement?.closest(LISTS)?.id ?? ''
  return [id, `${others[verb] ?? 'row'}-${gtin}`, `row-${gtin}`, list]
}

/** Focus the first of these elements that can have the focus. */
function focusFirst(ids: readonly string[]): void {
  for (const id of ids) {
    const element = document.getElementById(id)
    if (element === null || (element instanceof HTMLButtonElement && element.disabled)) continue
    element.focus({ preventScroll: true })
    return
  }
}

/**
 * `source`: a button whose name and value are a part of the query, or a search. A text that is typed but not searched for is not
 * sent: the server would choose its first match in place of the product.
 */
function toQuery(form: HTMLFormElement, source?: HTMLElement): string {
  const query = new URLSearchParams()
  for (const [name, value] of new FormData(form)) if (typeof value === 'string') query.append(name, value)
  const isSearch = source !== undefined && 'swaps' in source.dataset
  for (const field of isSearch ? [] : form.elements)
    if (field instanceof HTMLInputElement && 'reloadsPage' in field.dataset)
      query.set(field.name, field.defaultValue)
  if (source instanceof HTMLButtonElement && source.name !== '') query.append(source.name, source.value)
  return query.toString()
}
