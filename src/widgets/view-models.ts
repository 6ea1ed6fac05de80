import type { BoxView } from './box.ts'
import type { GridView } from './grid.ts'
import type { PicksView } from './picks.ts'
import type { CommonOptions } from './options.ts'
import type { toHeaderView, toNoticesView, toWrapperView } from './view-parts.ts'

/**
 * The data of the templates: localized, formatted texts, and validated addresses. Nothing here is markup; the templates
 * escape everything.
 */

/** The outer element of a fragment, and its style sheets. */
export type WrapperView = ReturnType<typeof toWrapperView>
export type HeaderView = ReturnType<typeof toHeaderView>
export type NoticesView = ReturnType<typeof toNoticesView>
export type AnyView = BoxView | PicksView | GridView

export type EmbedView = Readonly<{
  lang: string
  dir: 'ltr' | 'rtl'
  theme: CommonOptions['theme']
  title: string
  state: 'shown' | 'hidden'
  styles: readonly string[]
  /** Why nothing is shown, for the author of the page; `null` when shown. */
  reason: string | null
  /** Whether the reason is an error of the author or the server, not an ordinary hidden box. */
  isFailure: boolean
  frameScript: string
  /** Prefix of the redirect addresses in a sandboxed frame, before `go`; `null` without links. */
  redirectBaseUrl: string | null
  /** Addresses of the oEmbed responses for this document; `null` for an error. */
  discovery: Readonly<{ json: string; xml: string }> | null
  body: string
}>

/** The studio's preview of the layout `inline`: a text of the page with the widget in it. */
export type SentenceView = Readonly<{
  styles: readonly string[]
  background: 'light' | 'dark'
  /** Empty when the widget is hidden. */
  body: string
}>

/** A short page for an invalid address. In a frame, `frameScript` collapses it and logs the reason to the console. */
export type ErrorPageView = Readonly<{
  title: string
  message: string
  styles: readonly string[]
  frameScript: string | null
  /** `null`: no link to the studio. */
  studioUrl: string | null
}>

/** The demonstration shop, the target of the sample tracking links. */
export type DemoShopView = Readonly<{
  styles: readonly string[]
  demoProduct: Readonly<{ shop: string; title: string; price: string; pictureUrl: string | null }> | null
  parameters: readonly Readonly<{ name: string; value: string }>[]
}>
