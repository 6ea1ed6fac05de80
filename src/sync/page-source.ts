import { describeBug } from '../lib/bugs.ts'
import { parseJson } from '../catalog/body.ts'
import type { Answer, CatalogClient, ProductPageQuery } from '../catalog/client.ts'
import { type LeftOut, type ParseOptions, addItem, parseProductPage } from '../catalog/parse.ts'
import { CatalogInvalidError, VitrineError, WalkError } from '../errors.ts'
import { isSourceDigest, splitPage, toSourceDigest, toSourceTag } from './page-items.ts'
import { type PageProduct, toPageProduct } from '../storage/rows.ts'

/** A page of products, shaped for their rows. */
export type ReadPage = LeftOut & Readonly<{ products: readonly PageProduct[]; nextCursor: string | null }>

/**
 * How a page is read. `hasDeals`: most of its products will be new, so that their deals are made at once. `known`: digests and
 * GTINs of products that are in the copy, as `listKnown` gives them; one whose bytes are the same is not parsed.
 */
export type ReadOptions = Readonly<{ hasDeals: boolean; known?: string }>

/** Where a walk has its pages from: fetched and shaped in this thread or in another. */
export type PageSource = Readonly<{
  /** @throws CatalogError; WalkError when a page came, or would have, and the fault is this server's: no call mends that. */
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
    fetch: async (query, options) =>
      toPageAnswer(
        // oxlint-disable-next-line typescript/require-await -- what it throws is a rejection
        await client.fetchPageWith(query, async (bytes) =>
          findBug(() => readPage(bytes, parseOptions, options)),
        ),
      ),
    close: () => Promise.resolve(),
  }
}

/** @throws CatalogInvalidError when the bytes are no page. */
export function readPage(bytes: Uint8Array, parseOptions: ParseOptions, options: ReadOptions): ReadPage {
  const read = readItems(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), parseOptions, options)
  if (read !== undefined) return read
  const { products, ...page } = parseProductPage(parseJson(bytes), parseOptions)
  return { ...page, products: products.map((product) => toPageProduct(product, options)) }
}

/** Reads a page product by product; `undefined` when it cannot be cut between them. */
function readItems(page: Buffer, parseOptions: ParseOptions, options: ReadOptions): ReadPage | undefined {
  const split = splitPage(page)
  if (split === undefined) return undefined
  const tag = toSourceTag(parseOptions.ownOrigin)
  const known = parseKnown(options.known ?? '')
  const products: PageProduct[] = []
  const left: LeftOut = { drops: {}, droppedGtins: {} }
  for (const item of split.items) {
    const digest = toSourceDigest(tag, item)
    const gtin = known.get(digest)
    if (gtin !== undefined) products.push({ gtin, digest, content: null, deals: null })
    else {
      const json = parsePart(item)
      if (json === undefined) return undefined
      const [product, isWhole] = addItem(left, json, parseOptions)
      if (product !== undefined)
        products.push(toPageProduct(product, { ...options, ...(isWhole && { digest }) }))
    }
  }
  return { products, nextCursor: split.nextCursor, ...left }
}

/** `undefined`: it is no JSON, so that the page was cut at the wrong places or is none. */
function parsePart(item: Buffer): unknown {
  try {
    return parseJson(item)
  } catch (error) {
    if (error instanceof CatalogInvalidError) return undefined
    throw error
  }
}

/** GTINs by the digests of bytes; what has another digest has to be parsed. */
function parseKnown(known: string): ReadonlyMap<string, string> {
  const gtins = new Map<string, string>()
  for (const line of known.split('\n')) {
    const [digest = '', gtin = ''] = line.split(' ')
    if (isSourceDigest(digest)) gtins.set(digest, gtin)
  }
  return gtins
}

/**
 * What reading a page gives. A bug there is a value: the catalog has answered, and whatever were thrown within the call would
 * be taken for a catalog that cannot be reached.
 * @throws VitrineError, as it was thrown
 */
export function findBug<T>(read: () => T): T | WalkError {
  try {
    return read()
  } catch (error) {
    if (error instanceof VitrineError) throw error
    return new WalkError(`a page could not be read: ${describeBug(error as Error)}`, { cause: error })
  }
}

/** @throws WalkError when a bug was found in place of a page. */
export function toPageAnswer<T>({ value, asOfMs }: Answer<T | WalkError>): Answer<T> {
  if (value instanceof WalkError) throw value
  return { value, asOfMs }
}
