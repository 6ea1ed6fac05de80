import type { toGridView } from './deals.ts'
import type { CommonOptions } from './options.ts'
import type { toWrapperView, toNoticesView } from './view-parts.ts'
import type { toBoxView } from './where-to-buy.ts'

/**
 * What the templates are given: texts ready to print, in the reader's language, and addresses that have passed the
 * link gate. Nothing here is markup; the templates escape everything.
 */

/** How the outside of a fragment looks and where its styles are. */
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
  /** Why nothing is shown, for the author of the page; `null` where something is. */
  reason: string | null
  /** Is that a mistake of theirs, such as an invalid GTIN, or a failure of ours? */
  isFailure: boolean
  frameScript: string
  /** Where the links of a sandboxed frame lead, up to their `go`; `null` where it has none. */
  redirectBaseUrl: string | null
  /** Addresses of the oEmbed answers for this document; `null` where it stands for a mistake. */
  discovery: Readonly<{ json: string; xml: string }> | null
  body: string
}>

/** A short readable page for a mistake in an address. In a frame, `frameScript` folds it and tells the console why. */
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
