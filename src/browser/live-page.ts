/** Makes the page equal to another state of it, which the server renders, so that each rule is written once. */

/** The parts of the page that depend on the selection. */
const LIVE_PARTS = ['.tabs', '.workbench']

/** Attributes that the reader or a script changes; the server's value is ignored. */
const KEPT_ATTRIBUTES: ReadonlySet<string> = new Set(['open', 'checked', 'selected', 'style'])

/** Elements with one of these attributes are the same in both states if it has the same value. */
const KEY_ATTRIBUTES = ['id', 'data-key', 'src']

/** How long to wait for another state of the page. */
const TIMEOUT_MS = 15_000

/** Load another state of the page; `null` if the response is another page, such as an error. Rejects without a response. */
export function loadPage(url: string): Promise<Document | null> {
  return new Promise((resolve, reject) => {
    // The page's content policy blocks `DOMParser`; this parser runs no script either.
    const request = new XMLHttpRequest()
    request.open('GET', url)
    request.responseType = 'document'
    request.timeout = TIMEOUT_MS
    request.addEventListener('load', () => {
      const page = request.status === 200 ? request.responseXML : null
      resolve(page?.querySelector('[data-address]') ? page : null)
    })
    for (const name of ['error', 'timeout', 'abort'])
      request.addEventListener(name, () => reject(new Error('no response')))
    request.send()
  })
}

/** Show what only scripts need, and hide what only pages without scripts need. */
export function prepareForScript(page: Document): void {
  for (const element of page.querySelectorAll('noscript')) element.remove()
  for (const submit of page.querySelectorAll<HTMLElement>('[data-unneeded]')) submit.hidden = true
  for (const button of page.querySelectorAll<HTMLElement>('[data-copy]')) button.hidden = false
}

/** Show another state of the page. What the reader typed, opened and scrolled to stays. */
export function showPage(next: Document): void {
  prepareForScript(next)
  for (const selector of LIVE_PARTS) {
    const [part, other] = [document.querySelector(selector), next.querySelector(selector)]
    if (part !== null && other !== null) update(part, other)
  }
  replaceHiddenSnippet()
  const address = document.querySelector<HTMLElement>('[data-address]')?.dataset['address']
  const { search } = new URL(address ?? '', location.href)
  history.replaceState(null, '', `${location.pathname}${search}`)
}

/** Report that a change had no effect; the field keeps its value. */
export function showNoResponse(): void {
  const notice = document.querySelector<HTMLElement>('.notice')
  if (notice === null) return
  notice.dataset['away'] = ''
  notice.textContent = 'The server does not respond. Preview and snippets show the previous selection.'
  notice.hidden = false
}

/** Make a node equal to its next state. Unchanged nodes stay, with focus and caret. */
function update(current: Node, next: Node): void {
  if (current.isEqualNode(next)) return
  if (!(current instanceof Element && next instanceof Element)) {
    current.nodeValue = next.nodeValue
    return
  }
  if (current.matches('[data-picks], [data-clears]')) return
  updateAttributes(current, next)
  // The script of the widget follows the attributes of a placeholder, and owns its content.
  if (!current.matches('[data-vitrine]')) updateChildren(current, next)
}

function updateAttributes(current: Element, next: Element): void {
  for (const name of new Set([...current.getAttributeNames(), ...next.getAttributeNames()])) {
    const value = next.getAttribute(name)
    if (KEPT_ATTRIBUTES.has(name) || value === current.getAttribute(name)) continue
    if (value === null) current.removeAttribute(name)
    else current.setAttribute(name, value)
  }
}

function updateChildren(current: Element, next: Element): void {
  const left = new Set<Node>(current.childNodes)
  const children = [...next.childNodes].map((child) => {
    const match = findSame(left, child)
    if (match === undefined) return document.importNode(child, true)
    left.delete(match)
    update(match, child)
    return match
  })
  for (const node of left) current.removeChild(node)
  // A node that is moved loses the focus, and a frame its content.
  let position = current.firstChild
  for (const child of children) {
    if (child === position) position = position.nextSibling
    else current.insertBefore(child, position)
  }
}

function findSame(nodes: Iterable<Node>, next: Node): Node | undefined {
  for (const node of nodes) if (isSame(node, next)) return node
  return undefined
}

function isSame(current: Node, next: Node): boolean {
  if (current.nodeName !== next.nodeName) return false
  if (!(current instanceof Element && next instanceof Element)) return true
  return KEY_ATTRIBUTES.every((name) => current.getAttribute(name) === next.getAttribute(name))
}

/** Open a snippet in place of one that is hidden now. Without an open one, the user has closed it. */
function replaceHiddenSnippet(): void {
  const hiddenSnippet = document.querySelector('.snippet[open][hidden]')
  if (hiddenSnippet === null) return
  hiddenSnippet.removeAttribute('open')
  document.querySelector('.snippet:not([hidden])')?.setAttribute('open', '')
}
