/** `/embed.js`: replaces placeholders by frames with the height of their content, and reports clicks on shop links. */
import { toAddress } from './address.ts'
import { dispatchClick } from './click-event.ts'
import { watchClicks } from './clicks.ts'
import { mount } from './mount.ts'

type Vitrine = { scan(root?: ParentNode): void; destroy(element: Element): void }

declare global {
  interface Window {
    vitrine?: Vitrine
  }
}

const INCOMPLETE = 'Vitrine needs data-channel, where-to-buy: data-gtin, picks: data-gtins.'

/** `<img name="currentScript">` in a comment of the page would be `document.currentScript`. */
const script = Reflect.get(Document.prototype, 'currentScript', document) as HTMLScriptElement | null
/**
 * Folder of `embed.js`, or the parent of `assets/embed.{hash}.js`; `undefined` if the running file is neither. Modules have no
 * current script, but a stack. Searching the page would find other scripts: Disqus has an `embed.js`, too.
 */
const folder = /(http\S+?\/)(assets\/embed\.\w+|embed)\.js/.exec(
  script?.src || (Error().stack as string),
)?.[1]
/** Functions that remove the frames of placeholders; `undefined` for an incomplete placeholder. */
const frames = new Map<Element, (() => void) | undefined>()

function scan(root: ParentNode = Reflect.get(Document.prototype, 'documentElement', document)): void {
  for (const element of [root, ...root.querySelectorAll('[data-vitrine]')]) {
    if (!(element instanceof HTMLElement) || frames.get(element)) continue
    const read = (name: string): string | null => element.getAttribute(`data-${name}`)
    try {
      // The root itself may be no placeholder.
      if (read('vitrine') === null) continue
      const address = toAddress(`${folder}embeds/`, read)
      // Once, for the author of the page; readers see nothing.
      if (!address && !frames.has(element)) console.warn(INCOMPLETE, element)
      frames.set(element, address ? mount(element, address, read) : undefined)
    } catch {
      // No frame: half a surrogate pair in an attribute has no address, and a form may have a field named `getAttribute`.
    }
  }
}

function destroy(element: Element): void {
  frames.get(element)?.()
  frames.delete(element)
}

function watch(records: readonly MutationRecord[]): void {
  for (const { addedNodes } of records) {
    for (const node of addedNodes)
      try {
        if (node instanceof Element && node.isConnected) scan(node)
      } catch {
        // A form may have a field named `querySelectorAll`.
      }
  }
  for (const element of frames.keys()) if (!element.isConnected) destroy(element)
}

try {
  // Fails for the first script: also if `window.vitrine` is an element with that id, or the window of a frame with that name.
  ;(window.vitrine as Vitrine).scan()
} catch {
  if (folder) {
    window.vitrine = { scan, destroy }
    watchClicks(dispatchClick)
    new MutationObserver(watch).observe(document, { childList: true, subtree: true })
    scan()
  } else {
    console.warn('Vitrine needs embed.js.')
  }
}
