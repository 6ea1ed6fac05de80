/** `/embed.js`: replaces placeholders by frames with the height of their content, and reports clicks on shop links. */
import { type ReadAttribute, toAddress } from './address.ts'
import { dispatchClick } from './click-event.ts'
import { watchClicks } from './clicks.ts'
import { type FrameSlot, createFrameSlot } from './frame-slot.ts'
import { toTheme, watchWidget } from './page-theme.ts'

type Vitrine = {
  /** `otherServer`: that of a further loader, if this one has none. */
  scan(root?: ParentNode, otherServer?: string): void
  destroy(element: Element): void
}

declare global {
  interface Window {
    vitrine?: Vitrine
  }
}

const INCOMPLETE = 'Vitrine needs data-server or embed.js, data-channel, data-gtin(s).'

/** Below a shown frame, as below a fragment, unless the page has a rule for it, or reserves the height. */
const SPACE_BELOW = ':where([data-vitrine]:not([data-height])>[style*=": visible"]){margin-bottom:1.5em}'

/** How long frames wait for the load event of the page, which slow pictures and advertisements delay. */
const LOAD_TIMEOUT_MS = 3_000

/** How long frames wait after that until the page is idle. */
const IDLE_TIMEOUT_MS = 500

/** `<img name="currentScript">` in a comment of the page would be `document.currentScript`. */
const script = Reflect.get(Document.prototype, 'currentScript', document) as HTMLScriptElement | null
/**
 * The folder of `embed.js`, or the parent of `assets/embed.{hash}.js`; `undefined` if the running file is neither. Modules have no
 * current script, but a stack. Searching the page would find other scripts: Disqus has an `embed.js`, too.
 */
let server =
  script?.dataset['server'] ||
  /(http\S+?\/)(assets\/embed\.\w+|embed)\.js/.exec(script?.src || (Error().stack as string))?.[1]

type Widget = Readonly<{ slot: FrameSlot; update(): void; unwatch(): void }>

const widgets = new Map<Element, Widget>()
/** Placeholders with a warning for the author of the page; `null`: those without a server. Readers see nothing. */
const warned = new Set<Element | null>()
/** Until the start: the heights of placeholders, which have no frames yet. */
let styles: CSSStyleSheet | undefined
/** Frameworks compare the markup of the page with their own before they use it. Until then, nothing changes in it. */
let isReady = false

function scan(
  root: ParentNode = Reflect.get(Document.prototype, 'documentElement', document),
  otherServer?: string,
): void {
  server ||= otherServer
  for (const element of [root, ...root.querySelectorAll('[data-vitrine]')]) {
    try {
      // The root itself may be no placeholder.
      if (element instanceof HTMLElement && element.matches('[data-vitrine]')) add(element)
    } catch {
      // A form may have a field named `matches`.
    }
  }
}

/** Show what a placeholder asks for, now and after each change. After a move it has other elements around it. */
function add(element: HTMLElement): void {
  const read: ReadAttribute = (name) => {
    const value = element.getAttribute(`data-${name}`)
    if (name === 'theme') return toTheme(element, value)
    return name === 'server' ? value || server || null : value
  }
  const known = widgets.get(element)
  known?.unwatch()
  const slot = known?.slot ?? createFrameSlot(element, read)
  const update = (): void => {
    const address = findAddress(element, read)
    const height = read('height')
    if (isReady) slot.show(address)
    else if (Number(height) > 0)
      styles?.insertRule(`[data-vitrine][data-height="${height}"]{min-height:${height}px}`)
  }
  update()
  widgets.set(element, { slot, update, unwatch: watchWidget(element, update) })
}

function findAddress(element: Element, read: ReadAttribute): string | undefined {
  try {
    const address = toAddress('embeds', read)
    if (address) return address
  } catch {
    // An invalid server, or half a surrogate pair in an attribute.
  }
  const incomplete = read('server') ? element : null
  if (!warned.has(incomplete)) console.warn(INCOMPLETE, element)
  warned.add(incomplete)
  return undefined
}

function destroy(element: Element): void {
  const widget = widgets.get(element)
  widget?.unwatch()
  widget?.slot.show()
  widgets.delete(element)
}

function watch(records: readonly MutationRecord[]): void {
  for (const { type, target, addedNodes } of records) {
    for (const node of type === 'attributes' ? [target] : addedNodes)
      try {
        if (node instanceof Element && node.isConnected) scan(node)
      } catch {
        // A form may have a field named `querySelectorAll`.
      }
  }
  for (const [element, { slot, update }] of widgets) {
    if (!element.isConnected) destroy(element)
    else if (!slot.isIntact()) update()
  }
}

function start(): void {
  isReady = true
  for (const { update } of widgets.values()) update()
  styles?.replaceSync(SPACE_BELOW)
}

function startWhenIdle(): void {
  // Safari has no `requestIdleCallback`.
  if ('requestIdleCallback' in window) requestIdleCallback(start, { timeout: IDLE_TIMEOUT_MS })
  else setTimeout(start, IDLE_TIMEOUT_MS)
}

try {
  // Fails for the first script: also if `window.vitrine` is an element with that id, or the window of a frame with that name.
  ;(window.vitrine as Vitrine).scan(undefined, server)
} catch {
  window.vitrine = { scan, destroy }
  watchClicks(dispatchClick)
  try {
    styles = new CSSStyleSheet()
    document.adoptedStyleSheets.push(styles)
  } catch {
    // Safari before 16.4.
  }
  new MutationObserver(watch).observe(document, {
    attributeFilter: ['data-vitrine'],
    childList: true,
    subtree: true,
  })
  scan()
  setTimeout(startWhenIdle, document.readyState === 'complete' ? 0 : LOAD_TIMEOUT_MS)
  addEventListener('load', startWhenIdle)
}
