/** Defines the elements `<where-to-buy>`, `<round-up>` and `<deal-grid>`. */
import type { Click } from '../../../src/browser/click-event.ts'
import { type ElementName, KINDS } from './kinds.ts'
import { Widget } from './widget.ts'

export type * from './attributes.ts'
export type { Click }

declare global {
  interface HTMLElementTagNameMap {
    'where-to-buy': HTMLElement
    'round-up': HTMLElement
    'deal-grid': HTMLElement
  }
  interface GlobalEventHandlersEventMap {
    'vitrine:click': CustomEvent<Click>
  }
}

/** Browsers have it; servers that render components do not. */
const registry: CustomElementRegistry | undefined = globalThis.customElements

for (const name of Object.keys(KINDS) as ElementName[])
  // Another copy of this package may have defined it.
  if (registry?.get(name) === undefined) registry?.define(name, class extends Widget {})
