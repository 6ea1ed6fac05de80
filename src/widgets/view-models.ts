import type { Words } from './locales/index.ts'
import type { BoxLayout, GridLayout, Theme } from './options.ts'

/**
 * What the templates are given: texts ready to print, in the reader's language, and addresses that have passed the
 * link gate. Nothing here is markup; the templates escape everything.
 */

/** How the outside of a fragment looks and where its styles are. */
export type Frame = Readonly<{
  lang: string
  dir: 'ltr' | 'rtl'
  theme: Theme
  /** Absolute addresses of the style sheets to link, in order; empty with `css=none`. */
  styles: readonly string[]
  isolate: 'none' | 'shadow'
  /** Six hex digits of the accent; `null`: the theme's own. The rules are in `/accents/{hex}.css`. */
  accent: string | null
}>

/** A price as it is read: formatted, with the words a screen reader needs to tell old from new. */
export type PriceView = Readonly<{
  price: string
  /** Spoken before the price when there is a former one: `now`. */
  priceHint: string
  /** The shop's former price, `null` when not on sale. */
  oldPrice: string | null
  /** Spoken and shown before it: `Shop's former price`. */
  oldPriceHint: string
  /** `−20%`; `null` when not on sale or below one per cent. */
  discount: string | null
}>

export type OfferView = Readonly<{
  merchant: string
  href: string
  /** `null` when the price is too old to be shown: then `seePrice` stands in its place. */
  price: PriceView | null
  seePrice: string
  availability: Readonly<{ text: string; kind: 'in' | 'out' | 'other' }>
  isBest: boolean
  /** Names shop and price: `Buy at Kopje for €12.99`; the accessible name of the link. */
  linkLabel: string
  linkText: string
  /** Its place below `/go/{channel}/`, which sandboxed frames need; `null` outside of frames. */
  go: string | null
}>

export type HonestyView = Readonly<{
  /** `Prices checked on 21 Nov 2026, 05:12 UTC`, split at the time; `null` when it is unknown. */
  checked: Readonly<{ before: string; iso: string; time: string; after: string }> | null
  order: string
  shipping: string
  coverage: string
  disclosure: string | null
}>

export type BoxView = Readonly<{
  frame: Frame
  layout: BoxLayout
  /** Accessible name of the whole: `Where to buy Lumen Arc`. */
  label: string
  heading: string
  title: string
  brand: string | null
  imageUrl: string | null
  bestLabel: string
  columns: Words['columns']
  offers: readonly OfferView[]
  /** Folded offers; empty when all are shown. */
  more: readonly OfferView[]
  moreLabel: string
  honesty: HonestyView
  /** JSON-LD text, already safe inside a script element; `null` without `markup=schema`. */
  schema: string | null
}>

export type DealView = Readonly<{
  title: string
  brand: string | null
  imageUrl: string | null
  merchant: string
  merchantText: string
  href: string
  /** Never `null` unless the price is too old to be shown. */
  price: PriceView | null
  seePrice: string
  availability: OfferView['availability']
  linkLabel: string
  go: OfferView['go']
}>

export type GridView = Readonly<{
  frame: Frame
  layout: GridLayout
  label: string
  heading: string
  deals: readonly DealView[]
  /** Accessible names of the buttons that move a carousel. */
  scrolling: Readonly<{ previous: string; next: string }>
  honesty: HonestyView
  /** Links to the pages before and after; only frames have them. */
  paging: Readonly<{ previous: PageLink | null; next: PageLink | null; label: string }> | null
}>

export type PageLink = Readonly<{ href: string; text: string }>

export type EmbedView = Readonly<{
  lang: string
  dir: 'ltr' | 'rtl'
  theme: Frame['theme']
  title: string
  state: 'shown' | 'hidden'
  styles: readonly string[]
  /** Why nothing is shown, for whoever builds the page; `null` where something is. */
  reason: string | null
  /** Is that a mistake of theirs, such as a GTIN that is none, or a failure of ours? */
  isFault: boolean
  frameScript: string
  /** Where the links of a sandboxed frame lead, up to their `go`; `null` where it has none. */
  goUrl: string | null
  /** Addresses of the oEmbed answers for this document; `null` where it stands for a mistake. */
  discovery: Readonly<{ json: string; xml: string }> | null
  body: string
}>

/** A short readable page for a mistake in an address. In a frame, `frameScript` folds it and tells the console why. */
export type MistakeView = Readonly<{
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
