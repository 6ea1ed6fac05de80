import type { CommonOptions, DealGridOptions, RoundUpOptions, WhereToBuyOptions } from './options.ts'

/** Attributes of all elements. Numbers may also be text. */
export type CommonAttributes = CommonOptions &
  Readonly<{
    /** Address of the Vitrine server, such as `https://widgets.example`. */
    server: string
    /** Id of the channel. */
    channel: string
    /** Reserved height in pixels, so that the page does not move. */
    height?: number | string
    /** Title of the frame for assistive technology. Default: that of the document in the frame. */
    title?: string
  }>

/** Attributes of `<where-to-buy>`. */
export type WhereToBuyAttributes = CommonAttributes &
  WhereToBuyOptions &
  Readonly<{
    /** Barcode number; variants are separated by `~`. */
    gtin: string
  }>

/** Attributes of `<round-up>`. */
export type RoundUpAttributes = CommonAttributes &
  RoundUpOptions &
  Readonly<{
    /** Barcode numbers, separated by commas. */
    gtins: string
  }>

/** Attributes of `<deal-grid>`. */
export type DealGridAttributes = CommonAttributes & DealGridOptions

/** Attributes by element name. */
export type ElementAttributes = Readonly<{
  'where-to-buy': WhereToBuyAttributes
  'round-up': RoundUpAttributes
  'deal-grid': DealGridAttributes
}>
