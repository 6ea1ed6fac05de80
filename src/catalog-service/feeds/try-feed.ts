import { ImportError } from '../../errors.ts'
import type { FeedProduct, Reject } from '../import/feed-row.ts'
import { parseFeedFormat } from '../import/formats.ts'
import { openFeed } from '../import/open-feed.ts'
import { readFeed, toReaderOptions } from '../import/read-feed.ts'

/** Rows, shops and reasons that a trial lists. */
const MAX_EXAMPLES = 5
const MAX_LISTED = 10

/** Distinct shops that are counted: a feed of a marketplace has a great many. */
const MAX_COUNTED = 10_000

const MAX_RAW_CHARACTERS = 120

type Count = Readonly<{ name: string; count: number }>

/** What an import of a feed would bring. */
export type FeedTrial = Readonly<{
  format: string
  /** Which of several layouts of the format it is. */
  layout: string | undefined
  encoding: string
  isEncodingGuessed: boolean
  rows: number
  /** Rows with at least one usable offer. */
  usable: number
  withoutGtin: number
  /** Whether any offer has a tracking link. */
  hasTrackingLinks: boolean
  /** Columns or paths in which the format expects one. */
  trackingColumns: readonly string[]
  rejected: number
  /** Offers by shop and by currency, most first. */
  shops: readonly Count[]
  currencies: readonly Count[]
  examples: readonly (FeedProduct & Readonly<{ row: number }>)[]
  /** Rejects by reason, with the first one. */
  reasons: readonly Readonly<{ reason: string; count: number; row: number; raw: string }>[]
}>

export type TryFeedOptions = Readonly<{
  path: string
  label: string
  charset?: string | undefined
  format?: string | undefined
  map?: string | undefined
  network?: string | undefined
  merchant?: string | undefined
  currency?: string | undefined
  decimal?: '.' | ',' | undefined
  encoding?: string | undefined
  signal?: AbortSignal | undefined
}>

/** Read a feed to its end without writing anything. @throws ImportError when it cannot be read */
export async function tryFeed(options: TryFeedOptions): Promise<FeedTrial> {
  const { path, label, charset, format, map, network, merchant, currency, decimal, encoding, signal } =
    options
  const feed = await openFeed(path, label)
  try {
    const source = await readFeed({
      ...toReaderOptions({
        map,
        network,
        merchant,
        currency,
        decimal,
        encoding,
        format: format === undefined ? undefined : parseFeedFormat(format),
      }),
      file: label,
      chunks: feed.chunks,
      charset,
    })
    const trial = createTrial()
    for await (const batch of source.batches) {
      if (signal?.aborted) throw new ImportError('the trial was stopped')
      for (const row of batch) trial.add(row.row, row.parse())
    }
    const { batches: _, encoding: usedEncoding, ...found } = source
    return { ...found, encoding: usedEncoding, ...trial.finish() }
  } finally {
    await feed.close()
  }
}

function createTrial() {
  let [rows, usable, withoutGtin, rejected] = [0, 0, 0, 0]
  let hasTrackingLinks = false
  const shops = new Map<string, number>()
  const currencies = new Map<string, number>()
  const examples: (FeedProduct & Readonly<{ row: number }>)[] = []
  const reasons = new Map<string, { count: number; first: Reject }>()
  return {
    add(
      row: number,
      { product, rejects }: Readonly<{ product: FeedProduct | undefined; rejects: readonly Reject[] }>,
    ) {
      if (product === undefined && rejects.length === 0) return
      rows += 1
      rejected += rejects.length
      if (product === undefined && rejects.some(({ field }) => GTIN_FIELDS.test(field))) withoutGtin += 1
      for (const reject of rejects) countReason(reasons, reject)
      if (product === undefined) return
      usable += 1
      for (const { merchant, currency, link } of product.offers) {
        hasTrackingLinks ||= link === 'tracked'
        increment(shops, merchant)
        increment(currencies, currency)
      }
      if (examples.length < MAX_EXAMPLES) examples.push({ row, ...product })
    },
    finish: () => ({
      rows,
      usable,
      withoutGtin,
      hasTrackingLinks,
      rejected,
      examples,
      shops: listLargest(shops),
      currencies: listLargest(currencies),
      reasons: [...reasons]
        .toSorted(([, one], [, other]) => other.count - one.count)
        .slice(0, MAX_LISTED)
        .map(([reason, { count, first }]) => ({
          reason,
          count,
          row: first.row,
          raw: shorten(first.raw.replace(/\s+/g, ' ')),
        })),
    }),
  }
}

function shorten(raw: string): string {
  return raw.length > MAX_RAW_CHARACTERS ? `${raw.slice(0, MAX_RAW_CHARACTERS)}…` : raw
}

/** Fields whose reject means that a row has no valid GTIN. */
const GTIN_FIELDS = /gtin|ean|upc|isbn/i

function countReason(reasons: Map<string, { count: number; first: Reject }>, reject: Reject): void {
  const key = `${reject.field}: ${reject.reason}`
  const known = reasons.get(key)
  if (known !== undefined) known.count += 1
  else if (reasons.size < MAX_COUNTED) reasons.set(key, { count: 1, first: reject })
}

function increment(counts: Map<string, number>, name: string): void {
  if (counts.has(name) || counts.size < MAX_COUNTED) counts.set(name, (counts.get(name) ?? 0) + 1)
}

function listLargest(counts: ReadonlyMap<string, number>): readonly Count[] {
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, MAX_LISTED)
    .map(([name, count]) => ({ name, count }))
}
