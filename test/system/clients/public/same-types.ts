/** The published types and those generated from the document can replace each other. */
import type * as published from 'vitrine/data'
import type { components } from './made/openapi-typescript'

type Generated = components['schemas']

/** Types without `readonly`, which generators do not write. */
type Mutable<T> = { -readonly [Key in keyof T]: Mutable<T[Key]> }

/** `true` if the types are the same: also in properties that may be absent, which assignability would not notice. */
type Same<One, Other> =
  (<T>() => T extends Flat<One> ? 1 : 2) extends <T>() => T extends Flat<Other> ? 1 : 2 ? true : false

/** An intersection as one type. */
type Flat<T> = T extends object ? { [Key in keyof T]: Flat<T[Key]> } : T

type Published = {
  WhereToBuyData: published.WhereToBuyData
  PicksData: published.PicksData
  DealsData: published.DealsData
  HiddenJson: published.HiddenJson
  InvalidJson: published.InvalidJson
  WhereToBuyJson: published.WhereToBuyJson
  PicksJson: published.PicksJson
  DealsJson: published.DealsJson
  ProductJson: published.ProductJson
  ProductWithOffersJson: published.ProductWithOffersJson
  PickJson: published.PickJson
  DealJson: published.DealJson
  PictureJson: published.PictureJson
  OfferJson: published.OfferJson
  MerchantJson: published.MerchantJson
  AvailabilityJson: published.AvailabilityJson
  PriceJson: published.PriceJson
  ReferencePriceJson: published.ReferencePriceJson
  HistoryJson: published.HistoryJson
  OmittedOffersJson: published.OmittedOffersJson
}

/** Schemas of other responses. */
type Others = 'OembedJson' | 'HealthJson' | 'ReadinessJson'

type Comparison = { [Name in keyof Published]: Same<Mutable<Published[Name]>, Mutable<Generated[Name]>> }

export const comparison: { [Name in Exclude<keyof Generated, Others>]: true } = {} as Comparison
