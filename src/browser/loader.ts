/** `/embed.js`: replaces placeholders by frames with the height of their content, and reports clicks on shop links. */
import { dispatchClick } from './click-event.ts'
import { watchClicks } from './clicks.ts'
import { type FrameMessage, PROTOCOL_VERSION } from './messages.ts'
import { toFrameTitle } from './titles.ts'

type Vitrine = { scan(root?: ParentNode): void; destroy(element: Element): void }

declare global {
  interface Window {
    vitrine?: Vitrine
  }
}

/** Options that become query parameters; other attributes of a placeholder belong to the page. */
const OPTIONS =
  'theme accent locale currency stock merchant exclude head heading sub layout limit history else label page sort evidence min_discount max_price brand q'.split(
    ' ',
  )

/** Maximum height, so that no frame can make a page unusable. */
const MAX_HEIGHT_PX = 10_000

/** How long a loaded frame may send nothing before its reserved space is released. */
const SILENCE_MS = 4_000

/** How long a frame in view may send nothing: Firefox and Safari report no load event if the server is down. */
const LOAD_TIMEOUT_MS = 15_000

const base = findBase()
const frames = new Map<Element, () => void>()
const warned = new WeakSet<Element>()

/** Origin and path prefix of the server: the folder of `embed.js`, or the parent of `assets/embed.{hash}.js`. */
function findBase(): string {
  const script =
    document.currentScript ?? document.querySelector('script[src*="/embed.js"],script[src*="/assets/embed."]')
  const src = script instanceof HTMLScriptElement ? script.src : ''
  if (!URL.canParse(src)) return ''
  return new URL(/\/assets\/embed\.[^/]*$/.test(src) ? '..' : '.', src).href
}

/** Return the address of the frame; `undefined` if the placeholder is incomplete. */
function findAddress(element: HTMLElement): string | undefined {
  const { vitrine: kind = '', channel, gtin, gtins } = element.dataset
  const gtinTexts = new Map([
    ['where-to-buy', gtin],
    ['picks', gtins],
  ])
  const products = gtinTexts.get(kind)?.replace(/\s/g, '')
  if (!channel || !(products || kind === 'deals')) return undefined
  const parts = products ? [channel, kind, products] : [channel, kind]
  // The commas of a list stay readable, as in the normalized address of the server.
  const path = parts.map((part) => encodeURIComponent(part).replace(/%2C/g, ',')).join('/')
  const address = new URL(`embeds/${path}`, base)
  for (const name of OPTIONS) {
    for (const value of readOption(element, name)) address.searchParams.append(name, value)
  }
  return address.href
}

/** Empty for an absent or empty attribute; several values only for repeatable options. */
function readOption(element: HTMLElement, name: string): string[] {
  const attribute = `data-${name}`
  const text = element.getAttribute(attribute) ?? element.getAttribute(attribute.replace('_', '-')) ?? ''
  const isList = name === 'merchant' || name === 'exclude' || name === 'label'
  const values = isList ? text.split('|') : [name === 'else' ? text.replace(/\s/g, '') : text]
  // Labels are for the products in their order, so an empty one keeps its position.
  return values.map((value) => value.trim()).filter((value) => value || (name === 'label' && text))
}

function createFrame(element: HTMLElement, address: string): HTMLIFrameElement {
  const { vitrine: kind, theme, title, locale } = element.dataset
  const frame = document.createElement('iframe')
  const { style } = frame
  // The loader does not know the default of the server; the language of the page is the best guess.
  frame.title = title ?? toFrameTitle(kind, locale || element.closest<HTMLElement>('[lang]')?.lang || '')
  frame.loading = 'lazy'
  // A scroll bar in a closed frame would narrow the content and increase its height.
  frame.setAttribute('scrolling', 'no')
  // Float while closed: even a block without height would prevent margins around the placeholder from collapsing.
  style.cssText = 'display:block;float:left;width:100%;border:0;visibility:hidden'
  // The same colour scheme as the document inside; otherwise browsers paint an opaque background.
  style.colorScheme = theme === 'light' || theme === 'dark' ? theme : 'light dark'
  frame.src = address
  return frame
}

function toHeightPx(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? Math.min(Math.ceil(value), MAX_HEIGHT_PX) : undefined
}

/** "ready" from an open frame means another page of deals. */
function scrollToTop(frame: HTMLIFrameElement): void {
  if (frame.style.visibility === 'visible' && frame.getBoundingClientRect().top < 0) frame.scrollIntoView()
}

function mount(element: HTMLElement, address: string): void {
  const frame = createFrame(element, address)
  const reservedPx = toHeightPx(Number(element.dataset['height'])) ?? 0
  const { minHeight } = element.style
  const { origin } = new URL(base)
  let timer = 0

  frame.style.height = `${reservedPx}px`

  /** `undefined`: close the frame. */
  const show = (heightPx?: number): void => {
    const isShown = heightPx !== undefined
    clearTimeout(timer)
    // The page may have reserved the space before this script ran; now the frame reserves it.
    element.style.minHeight = '0px'
    frame.style.visibility = isShown ? 'visible' : 'hidden'
    frame.style.cssFloat = isShown ? 'none' : 'left'
    // Keep the reserved height: a lower box must not shift the page.
    frame.style.height = `${isShown ? Math.max(heightPx, reservedPx) : 0}px`
  }
  const listen = ({ source, origin: from, data }: MessageEvent<FrameMessage | null>): void => {
    if (source !== frame.contentWindow || from !== origin || data?.vitrine !== PROTOCOL_VERSION) return
    const { type } = data
    if (type === 'ready') scrollToTop(frame)
    if (type === 'hidden') show()
    if (type === 'height' && toHeightPx(data.heightPx) !== undefined) show(toHeightPx(data.heightPx))
    if (type === 'click') dispatchClick(element, data)
  }

  const startTimer = (timeoutMs: number): void => {
    clearTimeout(timer)
    if (frame.style.visibility === 'hidden') timer = window.setTimeout(show, timeoutMs)
  }
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return
    observer.disconnect()
    if (timer === 0) startTimer(LOAD_TIMEOUT_MS)
  })

  addEventListener('message', listen)
  // The frame sends messages before its load event; an error page of the browser never does.
  frame.addEventListener('load', () => startTimer(SILENCE_MS))
  observer.observe(element)
  frames.set(element, () => {
    observer.disconnect()
    clearTimeout(timer)
    removeEventListener('message', listen)
    frame.remove()
    element.style.minHeight = minHeight
    if (!element.getAttribute('style')) element.removeAttribute('style')
  })
  element.append(frame)
}

function scan(root: ParentNode = document): void {
  const found = [...root.querySelectorAll('[data-vitrine]')]
  if (root instanceof Element && root.matches('[data-vitrine]')) found.push(root)
  for (const element of found) {
    if (!(element instanceof HTMLElement) || frames.has(element)) continue
    try {
      const address = findAddress(element)
      if (address) mount(element, address)
      else warn(element)
    } catch {
      // Half a surrogate pair in an attribute has no address, so there is no frame.
    }
  }
}

/** Log the reason to the console, once, for the author of the page; readers see nothing. */
function warn(element: HTMLElement): void {
  if (warned.has(element)) return
  warned.add(element)
  console.warn(
    'Vitrine: data-vitrine needs data-channel, "where-to-buy" also data-gtin, "picks" also data-gtins.',
    element,
  )
}

function destroy(element: Element): void {
  frames.get(element)?.()
  frames.delete(element)
}

function watch(records: readonly MutationRecord[]): void {
  for (const { addedNodes } of records) {
    for (const node of addedNodes) if (node instanceof Element && node.isConnected) scan(node)
  }
  for (const element of frames.keys()) if (!element.isConnected) destroy(element)
}

// An element with the id "vitrine" is also `window.vitrine`.
if (typeof window.vitrine?.scan === 'function') {
  window.vitrine.scan()
} else if (base) {
  window.vitrine = { scan, destroy }
  watchClicks(dispatchClick)
  new MutationObserver(watch).observe(document.documentElement, { childList: true, subtree: true })
  scan()
}
