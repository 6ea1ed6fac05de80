import { type StudioUpdate, applyUpdate, showNoResponse } from './live-page.ts'

/** How long typing may pause before it counts. */
const TYPING_MS = 300

/**
 * A change of an option is shown at once: texts and attributes come from the server and are put in place, so that nobody
 * loses focus or place. When that fails, or another product is wanted, the form is sent as without script.
 */
export function prepareLiveForm(form: HTMLFormElement): void {
  let timer = 0
  let latestRequest = 0
  for (const submit of document.querySelectorAll<HTMLElement>('[data-unneeded]')) submit.hidden = true

  /** Answers may overtake each other, failures too: the last question counts. */
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
  // Fields stand all over the page and belong to the form by its id.
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

/** `unreachable`: no answer at all, as while the server restarts; `rejected`: the page itself may say more. */
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

/** A field whose change needs no other product: not the channel, not the search. */
function isOption(target: unknown): target is HTMLInputElement | HTMLSelectElement {
  return isField(target) && target.form !== null && !('whole' in target.dataset)
}

function toQuery(form: HTMLFormElement): string {
  const query = new URLSearchParams()
  for (const [name, value] of new FormData(form)) if (typeof value === 'string') query.append(name, value)
  return query.toString()
}
