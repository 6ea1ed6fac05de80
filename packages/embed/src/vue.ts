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

// For the elements in templates, which need `compilerOptions.isCustomElement`.
declare module 'vue' {
  interface GlobalComponents {
    'where-to-buy': Widget<'where-to-buy'>
    'round-up': Widget<'round-up'>
    'deal-grid': Widget<'deal-grid'>
  }
}
