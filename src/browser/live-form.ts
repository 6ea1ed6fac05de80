import { type StudioUpdate, applyUpdate, showNoResponse } from './live-page.ts'
import { focusFirst, loadPage, replaceParts } from './page-parts.ts'

/** Delay after typing before the change is applied. */
const TYPING_MS = 300

/**
 * Apply changed options at once: texts and attributes come from the server and replace those of the page, so that focus
 * and scroll position stay. When that fails, or the product changes, submit the form.
 */
export function prepareLiveForm(form: HTMLFormElement): void {
  let timer = 0
  let latestRequest = 0
  for (const submit of document.querySelectorAll<HTMLElement>('[data-unneeded]')) submit.hidden = true

  /** Responses and failures can arrive out of order; only those of the last request count. */
  const refresh = async (): Promise<void> => {
    clearTimeout(timer)
    latestRequest += 1
    const request = latestRequest
    const update = await fetchUpdate(`${form.dataset['live'] ?? ''}?${toQuery(form)}`)
    if (request !== latestRequest) return
    if (update === 'unreachable') showNoResponse()
    else if (update === 'rejected') form.submit()
    else applyUpdate(update)
  }

  /** Let the server change or search a list, and show the changed parts of its page. */
  const change = async (source: HTMLElement): Promise<void> => {
    const url = `${form.action}?${toQuery(form, source)}`
    const page = await loadPage(url).catch(() => undefined)
    if (page === undefined) showNoResponse()
    // The page of the address has the reason.
    else if (page === null) location.assign(url)
    else {
      const focusedId = document.activeElement?.id ?? ''
      replaceParts(page)
      if (document.activeElement === document.body) focusFirst([focusedId, ...listFocusTargets(source)])
      await refresh()
    }
  }

  // One after the other: each change begins with the list that the previous one has left.
  let lastChange = Promise.resolve()
  form.addEventListener('submit', (event) => {
    const { activeElement } = document
    const source = findSource(event.submitter, activeElement)
    if (source === null && !isOption(activeElement)) return
    event.preventDefault()
    if (source === null) void refresh()
    else lastChange = lastChange.then(() => change(source))
  })
  // Fields anywhere on the page belong to the form by its id.
  document.addEventListener('change', ({ target }) => {
    if (!isField(target) || target.form !== form) return
    if (!('reloadsPage' in target.dataset)) void refresh()
    else if (target instanceof HTMLSelectElement) form.requestSubmit()
  })
  document.addEventListener('input', ({ target }) => {
    if (!isOption(target) || !(target instanceof HTMLInputElement) || target.type === 'checkbox') return
    clearTimeout(timer)
    timer = window.setTimeout(() => void refresh(), TYPING_MS)
  })
}

/** `unreachable`: no response, as during a restart; `rejected`: the submitted page has the reason. */
async function fetchUpdate(url: string): Promise<StudioUpdate | 'unreachable' | 'rejected'> {
  try {
    const response = await fetch(url)
    return response.ok ? ((await response.json()) as StudioUpdate) : 'rejected'
  } catch {
    return 'unreachable'
  }
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

/** The element itself, or what stands for it if it is gone or disabled now: see the ids in views/partials/studio-*.eta. */
function listFocusTargets({ id, parentElement }: HTMLElement): readonly string[] {
  const [verb = '', gtin = ''] = id.split(/-(?=\d)/)
  const others: Readonly<Record<string, string>> = { add: 'found', up: 'down', down: 'up' }
  const part = parentElement?.closest('[data-part]')?.id ?? ''
  return [id, `${others[verb] ?? 'row'}-${gtin}`, `row-${gtin}`, part]
}

/** `source`: a button whose name and value are a part of the query. */
function toQuery(form: HTMLFormElement, source?: HTMLElement): string {
  const query = new URLSearchParams()
  for (const [name, value] of new FormData(form)) if (typeof value === 'string') query.append(name, value)
  if (source instanceof HTMLButtonElement && source.name !== '') query.append(source.name, source.value)
  return query.toString()
}
