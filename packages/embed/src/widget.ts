import { OPTIONS, type ReadAttribute } from '../../../src/browser/address.ts'
import { mount } from '../../../src/browser/mount.ts'
import { type ElementName, KINDS, toServerAddress } from './kinds.ts'

/** Servers that render components import this file, but have no elements. */
const Base = globalThis.HTMLElement ?? (Object as unknown as typeof HTMLElement)

/**
 * An element whose content is shown until the server answers: then the frame replaces it, or nothing does if there is nothing to
 * show. Without an answer it stays.
 */
export class Widget extends Base {
  static readonly observedAttributes = [
    'server',
    'channel',
    'gtin',
    'gtins',
    'height',
    'title',
    'min-discount',
    'max-price',
    ...OPTIONS,
  ]
  /** The content, which stays where frameworks have put it, is shown here. */
  readonly #slot = Document.prototype.createElement.call(document, 'slot')
  readonly #box = Document.prototype.createElement.call(document, 'div')
  /** What the frame was made from; empty: there is none. */
  #source = ''
  #unmount: (() => void) | undefined
  #isScheduled = false

  constructor() {
    super()
    this.attachShadow({ mode: 'open' }).append(this.#box)
    this.#box.append(this.#slot)
  }

  connectedCallback(): void {
    this.#schedule()
  }

  disconnectedCallback(): void {
    this.#schedule()
  }

  attributeChangedCallback(): void {
    this.#schedule()
  }

  /** Several changes, and a move in the document, are one update. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      this.#update()
    })
  }

  #update(): void {
    const read: ReadAttribute = (option) =>
      option === 'vitrine' ? KINDS[this.localName as ElementName] : this.getAttribute(option)
    const address = this.isConnected ? this.#findAddress(read) : ''
    const source = address && [address, read('height'), read('title')].join(' ')
    if (source === this.#source) return
    this.#source = source
    const heightPx = this.#unmount ? this.#box.offsetHeight : 0
    this.#unmount?.()
    this.#unmount = undefined
    this.#box.prepend(this.#slot)
    // Until the next frame opens, the page does not move.
    this.#box.style.minHeight = address && `${heightPx}px`
    if (!address) return
    this.#box.lang = this.closest<HTMLElement>('[lang]')?.lang ?? ''
    this.#unmount = mount(this.#box, address, read, (shownPx) => {
      this.#slot.remove()
      // The page may have reserved space.
      if (shownPx === undefined) this.style.minHeight = '0px'
    })
  }

  #findAddress(read: ReadAttribute): string {
    try {
      const address = toServerAddress('embeds', read)
      if (address) return address
    } catch {
      // An invalid server, or half a surrogate pair in an attribute.
    }
    // For the author of the page; readers see the content.
    console.warn('Vitrine needs a valid server, channel, where-to-buy: gtin, round-up: gtins.', this)
    return ''
  }
}
