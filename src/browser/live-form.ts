import { type StudioUpdate, applyUpdate, showNoResponse } from './live-page.ts'

/** Pause in typing after which the page is updated. */
const TYPING_MS = 300

/**
 * Update the page after a change of an option. Only texts and attributes are replaced, so focus and scroll position stay.
 * On a rejected request, or for another product, submit the form as without script.
 */
export function prepareLiveForm(form: HTMLFormElement): void {
  let timer = 0
  let latestRequest = 0
  for (const submit of document.querySelectorAll<HTMLElement>('[data-unneeded]')) submit.hidden = true

  /** Responses and failures may arrive out of order: only the one of the last request counts. */
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
  // Fields outside the form element belong to it by its id.
  document.addEventListener('change', ({ target }) => {
    if (!isField(target) || target.form !== form) return
    if (!('whole' in target.dataset)) void refresh()
    else if (target instanceof HTMLSelectElement) form.requestSubmit()
  })
  document.addEventListener('input', ({ target }) => {
    if (!isOption(target) || !(target instanceof HTMLInputElement) || target.type === 'checkbox') return
    clearTimeout(timer)
    timer = window.setTimeout(() => void refresh(), TYPING_MS)
  })
}

/** `unreachable`: no response, for example during a restart of the server; `rejected`: an error status. */
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

/** Whether a field keeps the product, unlike the channel and the search. */
function isOption(target: unknown): target is HTMLInputElement | HTMLSelectElement {
  return isField(target) && target.form !== null && !('whole' in target.dataset)
}

function toQuery(form: HTMLFormElement): string {
  const query = new URLSearchParams()
  for (const [name, value] of new FormData(form)) if (typeof value === 'string') query.append(name, value)
  return query.toString()
}
