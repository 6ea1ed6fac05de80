import { parseJson } from '../catalog/body.ts'
import type { Answer, CatalogClient, ProductPageQuery } from '../catalog/client.ts'
import { type Drops, type ParseOptions, parseProductPage } from '../catalog/parse.ts'
import { type PageProduct, toPageProduct } from './rows.ts'

/** A page of products, shaped for their rows. */
export type ReadPage = Readonly<{
  products: readonly PageProduct[]
  nextCursor: string | null
  drops: Drops
}>

/** How a page is read. `hasDeals`: most of its products will be new, so that their deals are made at once. */
export type ReadOptions = Readonly<{ hasDeals: boolean }>

/** Where a walk has its pages from: fetched and shaped in this thread or in another. */
export type PageSource = Readonly<{
  /** @throws CatalogError */
  fetch(query: ProductPageQuery, options: ReadOptions): Promise<Answer<ReadPage>>
  /** Ends what is under way. */
  close(): Promise<void>
}>

/** Fetches and reads in this thread, with the walk's own client, which stays open. */
export function createPageSource(
  client: Pick<CatalogClient, 'fetchPageWith'>,
  parseOptions: ParseOptions,
): PageSource {
  return {
    fetch: (query, options) =>
      // oxlint-disable-next-line typescript/require-await -- what it throws is a rejection
      client.fetchPageWith(query, async (bytes) => readPage(bytes, parseOptions, options)),
    close: () => Promise.resolve(),
  }
}

/** @throws CatalogInvalidError when the bytes are no page. */
export function readPage(bytes: Uint8Array, parseOptions: ParseOptions, options: ReadOptions): ReadPage {
  const { products, nextCursor, drops } = parseProductPage(parseJson(bytes), parseOptions)
  return { products: products.map((product) => toPageProduct(product, options)), nextCursor, drops }
}
