/** Attributes of all elements. Numbers may also be text. docs/publish/options.md explains the options. */
export type CommonAttributes = Readonly<{
  /** Address of the Vitrine server, such as `https://widgets.example`. */
  server: string
  /** Id of the channel. */
  channel: string
  /** Reserved height in pixels, so that the page does not move. */
  height?: number | string
  /** Title of the frame for assistive technology. Default: that of the document in the frame. */
  title?: string
  theme?: 'auto' | 'light' | 'dark'
  accent?: string
  locale?: string
  currency?: string
  stock?: 'in' | 'any'
  /** Several shops are separated by `|`. */
  merchant?: string
  /** Several shops are separated by `|`. */
  exclude?: string
  head?: 'full' | 'compact' | 'none'
  heading?: string
  sub?: string
}>

/** Attributes of `<where-to-buy>`. */
export type WhereToBuyAttributes = CommonAttributes &
  Readonly<{
    /** Barcode number; variants are separated by `~`. */
    gtin: string
    layout?: 'list' | 'table' | 'card' | 'button' | 'inline'
    limit?: number | string
    history?: 'none' | 'note' | 'chart'
    /** Stand-ins, separated by commas. */
    else?: string
  }>

/** Attributes of `<round-up>`. */
export type RoundUpAttributes = CommonAttributes &
  Readonly<{
    /** Barcode numbers, separated by commas. */
    gtins: string
    layout?: 'rank' | 'table' | 'row'
    /** Labels of the products in their order, separated by `|`; an empty one is none. */
    label?: string
  }>

/** Attributes of `<deal-grid>`. */
export type DealGridAttributes = CommonAttributes &
  Readonly<{
    layout?: 'grid' | 'list' | 'carousel'
    limit?: number | string
    page?: number | string
    sort?: 'discount' | 'saving' | 'price' | 'newest' | 'drop'
    evidence?: 'shop' | 'observed'
    min_discount?: number | string
    max_price?: number | string
    brand?: string
    q?: string
  }>

/** Attributes by element name. */
export type ElementAttributes = Readonly<{
  'where-to-buy': WhereToBuyAttributes
  'round-up': RoundUpAttributes
  'deal-grid': DealGridAttributes
}>
