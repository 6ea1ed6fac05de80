'use client'

import { type FunctionComponent, type HTMLAttributes, type RefAttributes, createElement } from 'react'
import type { ElementAttributes } from './attributes.ts'
import './index.js'

/** Attributes of an element, those of HTML, and its content for readers without script. */
export type WidgetProps<Name extends keyof ElementAttributes> = ElementAttributes[Name] &
  Omit<HTMLAttributes<HTMLElement>, keyof ElementAttributes[Name]> &
  RefAttributes<HTMLElement>

declare module 'react' {
  // oxlint-disable-next-line typescript/no-namespace -- the form of React's types
  namespace JSX {
    interface IntrinsicElements {
      'where-to-buy': WidgetProps<'where-to-buy'>
      'round-up': WidgetProps<'round-up'>
      'deal-grid': WidgetProps<'deal-grid'>
    }
  }
}

/** Prices of a product in shops. */
export const WhereToBuy: FunctionComponent<WidgetProps<'where-to-buy'>> = (props) =>
  createElement('where-to-buy', props)

/** Several products in your order. */
export const RoundUp: FunctionComponent<WidgetProps<'round-up'>> = (props) => createElement('round-up', props)

/** Products with lowered prices. */
export const DealGrid: FunctionComponent<WidgetProps<'deal-grid'>> = (props) =>
  createElement('deal-grid', props)
