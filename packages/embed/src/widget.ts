import { type ReadAttribute, toAddress } from '../../../src/browser/address.ts'
import { createFrameSlot } from '../../../src/browser/frame-slot.ts'
import { toTheme, watchWidget } from '../../../src/browser/page-theme.ts'
import { type ElementName, KINDS } from './kinds.ts'

/** Servers that render components import this file, but have no elements. */
const Base = globalThis.HTMLElement ?? (Object as unknown as typeof HTMLElement)

/**
 * An element whose content is shown until the server answers: then the frame replaces it, or nothing does if there is nothing to
 * show. Without an answer it stays.
 */
export class Widget extends Base {
  /** The content, which stays where frameworks have put it, is shown here. */
  readonly #content = Document.prototype.createElement.call(document, 'slot')
  readonly #box = Document.prototype.createElement.call(document, 'div')
  readonly #read: ReadAttribute = (option) => {
    if (option === 'vitrine') return KINDS[this.localName as ElementName]
    const value = this.getAttribute(option)
    return option === 'theme' ? toTheme(this, value) : value
  }
  readonly #frame = createFrameSlot(this.#box, this.#read, (shownPx) => {
    this.#content.remove()
    // The page may have reserved space.
    if (shownPx === undefined) this.style.minHeight = '0px'
  })
  #unwatch: (() => void) | undefined
  #isScheduled = false
  #isWarned = false

  constructor() {
    super()
    this.attachShadow({ mode: 'open' }).append(this.#box)
    this.#box.append(this.#content)
  }

  connectedCallback(): void {
    this.#unwatch = watchWidget(this, () => this.#update())
    this.#schedule()
  }

  disconnectedCallback(): void {
    this.#unwatch?.()
    this.#schedule()
  }

  /** A move in the document is one update. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      this.#update()
    })
  }

  #update(): void {
    if (this.#frame.show(this.isConnected ? this.#findAddress() : undefined)) this.#box.prepend(this.#content)
  }

  #findAddress(): string | undefined {
    try {
      const address = toAddress('embeds', this.#read)
      if (address) return address
    } catch {
      // An invalid server, or half a surrogate pair in an attribute.
    }
    // For the author of the page; readers see the content.
    if (!this.#isWarned)
      console.warn('Vitrine needs a valid server, channel, where-to-buy: gtin, round-up: gtins.', this)
    this.#isWarned = true
    return undefined
  }
}
