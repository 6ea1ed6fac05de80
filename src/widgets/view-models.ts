import type { toGridView } from './deals.ts'
import type { CommonOptions } from './options.ts'
import type { toWrapperView, toNoticesView } from './view-parts.ts'
import type { toBoxView } from './where-to-buy.ts'

/**
 * The input of the templates: texts in the reader's language, and validated link addresses. Nothing here is markup; the templates
 * escape everything.
 */

export type WrapperView = ReturnType<typeof toWrapperView>
export type NoticesView = ReturnType<typeof toNoticesView>
export type BoxView = NonNullable<ReturnType<typeof toBoxView>>
export type OfferView = BoxView['offers'][number]
export type GridView = NonNullable<ReturnType<typeof toGridView>>
export type DealView = GridView['deals'][number]

export type EmbedView = Readonly<{
  lang: string
  dir: 'ltr' | 'rtl'
  theme: CommonOptions['theme']
  title: string
  state: 'shown' | 'hidden'
  styles: readonly string[]
  /** Why nothing is shown, for the author of the page; `null` if something is shown. */
  reason: string | null
  /** Whether the reason is an error, such as an invalid GTIN or a failure of this server. */
  isFailure: boolean
  frameScript: string
  /** Base address for the `data-go` links of a sandboxed frame; `null` if it has no links. */
  redirectBaseUrl: string | null
  /** Addresses of the oEmbed responses for this document; `null` if its address is invalid. */
  discovery: Readonly<{ json: string; xml: string }> | null
  body: string
}>

/** A short page for an invalid address. In a frame, `frameScript` collapses it and writes the reason to the console. */
export type ErrorPageView = Readonly<{
  title: string
  message: string
  styles: readonly string[]
  frameScript: string | null
}>

/** The demonstration shop that the sample's tracking links lead to. */
export type DemoShopView = Readonly<{
  styles: readonly string[]
  listing: Readonly<{ shop: string; title: string; price: string; pictureUrl: string | null }> | null
  parameters: readonly Readonly<{ name: string; value: string }>[]
}>
