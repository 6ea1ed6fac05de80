/** Parts of the page that a change of a list replaces: the server renders them, so that each rule is written once. */
import { prepareCopyButton } from './copy-button.ts'

/** Load another state of the page; `null` if it is an error. Rejects without a response. */
export function loadPage(url: string): Promise<Document | null> {
  return new Promise((resolve, reject) => {
    // The page's content policy blocks `DOMParser`; this parser runs no script either.
    const request = new XMLHttpRequest()
    request.open('GET', url)
    request.responseType = 'document'
    request.addEventListener('load', () => resolve(request.status === 200 ? request.responseXML : null))
    request.addEventListener('error', () => reject(new Error('no response')))
    request.send()
  })
}

/** Replace the parts of this page by those of another state of it. Typed texts stay. */
export function replaceParts(next: Document): void {
  // The stage stays with its open snippet and its frames, unless there is nothing to embed before or after.
  const isStageKept = document.querySelector('.pane') !== null && next.querySelector('.pane') !== null
  for (const part of document.querySelectorAll<HTMLElement>('[data-part]')) {
    const name = part.dataset['part'] ?? ''
    if (!part.isConnected || (name === 'stage' && isStageKept)) continue
    const other = next.querySelector<HTMLElement>(`[data-part="${name}"]`)
    if (other === null) continue
    const replacement = document.importNode(other, true)
    prepare(replacement)
    keepTexts(part, replacement)
    replaceScrolled(part, replacement)
  }
}

/** Focus the first of these elements that can have the focus. */
export function focusFirst(ids: readonly string[]): void {
  for (const id of ids) {
    const element = document.getElementById(id)
    if (element === null || (element instanceof HTMLButtonElement && element.disabled)) continue
    element.focus({ preventScroll: true })
    return
  }
}

function prepare(part: HTMLElement): void {
  for (const element of part.querySelectorAll('noscript')) element.remove()
  for (const submit of part.querySelectorAll<HTMLElement>('[data-unneeded]')) submit.hidden = true
  for (const button of part.querySelectorAll<HTMLButtonElement>('button[data-copy]'))
    prepareCopyButton(button)
}

/** Replace a part. A list of found products stays where it is scrolled to, unless another search has found it. */
function replaceScrolled(part: HTMLElement, replacement: HTMLElement): void {
  const list = part.querySelector('.matches')
  const [top = 0, left = 0] = [list?.scrollTop, list?.scrollLeft]
  const isSame = findFirstText(part) === findFirstText(replacement)
  part.replaceWith(replacement)
  if (isSame) replacement.querySelector('.matches')?.scrollTo({ top, left })
}

function findFirstText(part: HTMLElement): string | null | undefined {
  return part.querySelector('.gtin')?.textContent
}

function keepTexts(part: HTMLElement, replacement: HTMLElement): void {
  if (part instanceof HTMLDetailsElement && part.open) replacement.setAttribute('open', '')
  for (const input of part.querySelectorAll<HTMLInputElement>('input[type="text"][id]')) {
    const other = replacement.querySelector<HTMLInputElement>(`#${CSS.escape(input.id)}`)
    if (other) other.value = input.value
  }
}
