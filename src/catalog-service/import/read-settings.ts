import type { Feed } from '../store/feeds.ts'
import { parseFeedMap } from './feed-map.ts'
import { type FeedFormat, parseFeedFormat } from './formats.ts'

/**
 * How to read a file. `network` and `merchant` replace those of every offer. `map` is a column map as JSON; without it and
 * `format`, the format is detected.
 */
export type ReadSettings = Readonly<{
  format?: FeedFormat | undefined
  map?: string | undefined
  network?: string | undefined
  merchant?: string | undefined
  /** Of prices that name none, as three letters. */
  currency?: string | undefined
  /** Decimal sign of prices. */
  decimal?: '.' | ',' | undefined
  encoding?: string | undefined
}>

type Nullable<Settings> = { readonly [Name in keyof Settings]-?: Exclude<Settings[Name], undefined> | null }

/** Return the settings of a feed. */
export function toReadSettings(feed: Feed): ReadSettings {
  const { format, map, network, merchant, currency, decimal, encoding } = feed
  return {
    map: map ?? undefined,
    format: format === null ? undefined : parseFeedFormat(format),
    network: network ?? undefined,
    merchant: merchant ?? undefined,
    currency: currency ?? undefined,
    decimal: decimal ?? undefined,
    encoding: encoding ?? undefined,
  }
}

/** Return the settings as a feed stores them. */
export function toStoredSettings(settings: ReadSettings): Nullable<ReadSettings> {
  const { format = null, map = null, network = null, merchant = null } = settings
  const { currency = null, decimal = null, encoding = null } = settings
  return { format, map, network, merchant, currency, decimal, encoding }
}

/** @throws UsageError for an invalid map */
export function toReaderOptions({ format, map, network, merchant, ...reading }: ReadSettings) {
  return {
    format,
    map: map === undefined ? undefined : parseFeedMap(JSON.parse(map)),
    names: { network, merchant },
    ...reading,
  }
}
