import { type StudioUpdate, applyUpdate, showNoResponse } from './live-page.ts'

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

  form.addEventListener('submit', (event) => {
    if (!isOption(document.activeElement)) return
    event.preventDefault()
    void refresh()
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

function toQuery(form: HTMLFormElement): string {
  const query = new URLSearchParams()
  for (const [name, value] of new FormData(form)) if (typeof value === 'string') query.append(name, value)
  return query.toString()
}
