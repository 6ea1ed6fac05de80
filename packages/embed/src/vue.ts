import { type FunctionalComponent, h } from 'vue'
import type { ElementAttributes } from './attributes.ts'
import './index.js'

/** A component whose default slot is the content for readers without script. */
type Widget<Name extends keyof ElementAttributes> = FunctionalComponent<ElementAttributes[Name]>

function toComponent<Name extends keyof ElementAttributes>(name: Name): Widget<Name> {
  const component: Widget<Name> = (_props, { attrs, slots }) => h(name, attrs, slots['default']?.())
  component.inheritAttrs = false
  return component
}

/** Prices of a product in shops. */
export const WhereToBuy: Widget<'where-to-buy'> = toComponent('where-to-buy')

/** Several products in your order. */
export const RoundUp: Widget<'round-up'> = toComponent('round-up')

/** Products with lowered prices. */
export const DealGrid: Widget<'deal-grid'> = toComponent('deal-grid')

declare module 'vue' {
  interface GlobalComponents {
    WhereToBuy: typeof WhereToBuy
    RoundUp: typeof RoundUp
    DealGrid: typeof DealGrid
  }
}
