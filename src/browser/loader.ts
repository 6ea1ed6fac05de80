/** `/embed.js`: replaces placeholders by frames that adapt to the height of their content. */
import { type FrameMessage, PROTOCOL_VERSION } from './messages.ts'
import { toFrameTitle } from './titles.ts'

type Vitrine = { scan(root?: ParentNode): void; destroy(element: Element): void }

declare global {
  interface Window {
    vitrine?: Vitrine
  }
}

/** Options that become query parameters. Other attributes of a placeholder are ignored. */
const OPTIONS =
  'theme accent locale currency stock merchant exclude layout limit page sort min_discount max_price brand q'.split(
    ' ',
  )

/** Limit, so that a page stays usable regardless of a frame's messages. */
const MAX_HEIGHT_PX = 10_000

/** A loaded frame that sends no message for this time loses its reserved space. */
const SILENCE_MS = 4_000

const base = findBase()
const frames = new Map<Element, () => void>()
const warned = new WeakSet<Element>()

/** Find origin and path prefix of the server: the folder of `embed.js`, or the one above `assets/embed.{hash}.js`. */
function findBase(): string {
  const script =
    document.currentScript ?? document.querySelector('script[src*="/embed.js"],script[src*="/assets/embed."]')
  const src = script instanceof HTMLScriptElement ? script.src : ''
  if (!URL.canParse(src)) return ''
  return new URL(/\/assets\/embed\.[^/]*$/.test(src) ? '..' : '.', src).href
}

function findAddress(element: HTMLElement): string | undefined {
  const { vitrine: kind, channel, gtin } = element.dataset
  const isBox = kind === 'where-to-buy'
  if (!channel || !(isBox ? gtin : kind === 'deals')) return undefined
  const parts = isBox ? [channel, kind, gtin] : [channel, kind]
  const address = new URL(`embeds/${parts.map((part) => encodeURIComponent(part ?? '')).join('/')}`, base)
  for (const name of OPTIONS) {
    for (const value of readOption(element, name)) address.searchParams.append(name, value)
  }
  return address.href
}

/** Return the values of an attribute: none if it is empty, several only for options that may be repeated. */
function readOption(element: HTMLElement, name: string): string[] {
  const attribute = `data-${name}`
  const text = element.getAttribute(attribute) ?? element.getAttribute(attribute.replace('_', '-')) ?? ''
  const values = name === 'merchant' || name === 'exclude' ? text.split('|') : [text]
  return values.map((value) => value.trim()).filter(Boolean)
}

function createFrame(element: HTMLElement, address: string): HTMLIFrameElement {
  const { vitrine: kind, theme, title, height, locale } = element.dataset
  const frame = document.createElement('iframe')
  const { style } = frame
  // The loader does not know the server's default locale; the language of the page is the best guess.
  frame.title = title ?? toFrameTitle(kind, locale || element.closest<HTMLElement>('[lang]')?.lang || '')
  frame.loading = 'lazy'
  // A scroll bar in a closed frame would make the content narrower, and so too high.
  frame.setAttribute('scrolling', 'no')
  // A closed frame floats: a block, even without height, would prevent the margins around it from collapsing.
  style.cssText = 'display:block;float:left;width:100%;border:0;visibility:hidden'
  style.height = `${toHeightPx(Number(height)) ?? 0}px`
  // With another colour scheme than the document inside, browsers paint an opaque background.
  style.colorScheme = theme === 'light' || theme === 'dark' ? theme : 'light dark'
  frame.src = address
  return frame
}

function toHeightPx(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? Math.min(Math.ceil(value), MAX_HEIGHT_PX) : undefined
}

function isFrameMessage(data: unknown): data is FrameMessage {
  return typeof data === 'object' && data !== null && 'vitrine' in data && data.vitrine === PROTOCOL_VERSION
}

function mount(element: HTMLElement, address: string): void {
  const frame = createFrame(element, address)
  const reservedPx = toHeightPx(Number(element.dataset['height'])) ?? 0
  const { minHeight } = element.style
  const { origin } = new URL(base)
  let timer = 0

  const show = (isShown: boolean): void => {
    clearTimeout(timer)
    // The page may have reserved space before this script ran; from now on the frame reserves it.
    element.style.minHeight = '0px'
    frame.style.visibility = isShown ? 'visible' : 'hidden'
    frame.style.cssFloat = isShown ? 'none' : 'left'
    if (!isShown) frame.style.height = '0px'
  }
  const listen = ({ source, origin: from, data }: MessageEvent<unknown>): void => {
    if (source !== frame.contentWindow || from !== origin || !isFrameMessage(data)) return
    // An open frame that is ready again shows another page of deals: scroll to its top.
    if (
      data.type === 'ready' &&
      frame.style.visibility === 'visible' &&
      frame.getBoundingClientRect().top < 0
    )
      frame.scrollIntoView()
    if (data.type === 'hidden') show(false)
    if (data.type !== 'height') return
    const heightPx = toHeightPx(data.heightPx)
    if (heightPx === undefined) return
    show(true)
    // Never use less than the reserved height, so that the page does not move.
    frame.style.height = `${Math.max(heightPx, reservedPx)}px`
  }

  window.addEventListener('message', listen)
  frame.addEventListener('load', () => {
    // A widget sends a message before it is loaded; an error page of the browser never does.
    if (frame.style.visibility === 'hidden') timer = window.setTimeout(show, SILENCE_MS, false)
  })
  frames.set(element, () => {
    clearTimeout(timer)
    window.removeEventListener('message', listen)
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
      // An attribute with an unpaired surrogate has no valid address.
    }
  }
}

/** Warn the page author in the console, once per element; readers see nothing. */
function warn(element: HTMLElement): void {
  if (warned.has(element)) return
  warned.add(element)
  console.warn(
    `Vitrine: data-vitrine="where-to-buy" needs data-channel and data-gtin, "deals" needs data-channel. Here it is "${element.dataset['vitrine'] ?? ''}".`,
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

// An element with the id "vitrine" would also be `window.vitrine`.
if (typeof window.vitrine?.scan === 'function') {
  window.vitrine.scan()
} else if (base) {
  window.vitrine = { scan, destroy }
  new MutationObserver(watch).observe(document.documentElement, { childList: true, subtree: true })
  scan()
}
