import { type ReadFeedOptions, readFeed } from '../../../src/catalog-service/import/read-feed.ts'
import type { FeedProduct, Reject } from '../../../src/catalog-service/import/feed-row.ts'

/** Everything that was read from a feed. */
export type FeedResult = {
  format: string
  layout: string | undefined
  encoding: string
  isEncodingGuessed: boolean
  products: FeedProduct[]
  rejects: Reject[]
  hasLinkMerchants: boolean
}

/** Read a feed from memory, in pieces of `pieceBytes` (default: all at once). */
export async function readFeedText(
  content: string | Buffer,
  options: Partial<ReadFeedOptions> & { pieceBytes?: number } = {},
): Promise<FeedResult> {
  const { pieceBytes, ...readOptions } = options
  const chunks = splitChunks(Buffer.from(content), pieceBytes ?? content.length)
  const feed = await readFeed({
    file: 'feed',
    chunks,
    format: undefined,
    names: {},
    ...readOptions,
  })
  const products: FeedProduct[] = []
  const rejects: Reject[] = []
  for await (const rows of feed.batches) {
    for (const row of rows) {
      const parsed = row.parse()
      rejects.push(...parsed.rejects)
      if (parsed.product !== undefined) products.push(parsed.product)
    }
  }
  const hasLinkMerchants = products.some(({ offers }) => offers.some(({ isNamedByHost }) => isNamedByHost))
  const { format, layout, encoding, isEncodingGuessed } = feed
  return { format, layout, encoding, isEncodingGuessed, products, rejects, hasLinkMerchants }
}

const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** Read a table of one row, given as cells by column. */
export function readCells(
  cells: Record<string, string>,
  options: Partial<ReadFeedOptions> = {},
): Promise<FeedResult> {
  const lines = [Object.keys(cells).map(quote).join(','), Object.values(cells).map(quote).join(',')]
  return readFeedText(`${lines.join('\n')}\n`, options)
}

async function* splitChunks(bytes: Buffer, pieceBytes: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += pieceBytes)
    yield bytes.subarray(start, start + pieceBytes)
}
