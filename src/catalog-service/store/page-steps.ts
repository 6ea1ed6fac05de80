import type { WireProduct } from '../../catalog/contract.ts'
import type { PageQuery, ProductPage } from './catalog-store.ts'
import type { ChannelView } from './channel-view.ts'
import { type ProductRow, toProduct } from './product-rows.ts'
import { type StrandRest, countStrands, findGtins } from './visible-gtins.ts'

/**
 * What making a page asks of the database, step by step: products in the order of their GTINs, products of these GTINs, or
 * the next `length` GTINs of each of these shops. A file answers within the step, a server later: the steps are the same.
 */
export type PageStep =
  | Readonly<{ want: 'after'; gtin: string; count: number }>
  | Readonly<{ want: 'these'; gtins: readonly string[] }>
  | Readonly<{ want: 'strands'; strands: readonly StrandRest[]; length: number }>

/** The answer to a step: what it wants, by GTIN; the other list is empty. */
export type StepAnswer = Readonly<{
  products: readonly ProductRow[]
  /** One list a strand, in the order of the strands. */
  gtins: readonly (readonly string[])[]
}>

/** Steps whose answers make a `Result`. */
export type Steps<Result> = Generator<PageStep, Result, StepAnswer>

/** A page of a channel. */
export type ViewQuery = PageQuery & Readonly<{ view: ChannelView }>

/** Most products that are looked at in one step. */
const MAX_LOOKED_AT = 1_000

/**
 * A page of the products that the channel may show, ordered by GTIN. It seeks: a deep page costs as much as the first, and
 * a channel that shows few products of many does not read the others.
 * @yields what it asks of the database
 */
export function* makePage({ view, afterGtin, limit }: ViewQuery): Steps<ProductPage> {
  if (view.size === 0) return { items: [], lastGtin: null }
  // One more than the page holds tells whether another page follows.
  const found = yield* collectProducts({ view, afterGtin, limit: limit + 1 })
  const items = found.slice(0, limit)
  return { items, lastGtin: found.length > limit ? (items.at(-1)?.gtin ?? null) : null }
}

function* collectProducts({ view, afterGtin, limit }: ViewQuery): Steps<WireProduct[]> {
  const found: WireProduct[] = []
  const strands = countStrands(view)
  let after = afterGtin
  let lookedAt = 0
  let count = limit
  while (found.length < limit) {
    const { products } = yield { want: 'after', gtin: after, count }
    found.push(...toProducts(products, view))
    const last = products.at(-1)
    if (last === undefined || products.length < count) break
    after = last.gtin
    lookedAt += products.length
    // So many more would have to be looked at, one by one, as far as those before tell.
    const expected = ((limit - found.length) * lookedAt) / Math.max(found.length, 1 / 2)
    if (expected > strands + limit) {
      const gtins = yield* findGtins({ view, afterGtin: after, limit: limit - found.length })
      const rest = yield { want: 'these', gtins }
      return [...found, ...toProducts(rest.products, view)]
    }
    count = Math.min(MAX_LOOKED_AT, Math.ceil(expected))
  }
  return found.slice(0, limit)
}

function toProducts(rows: readonly ProductRow[], view: ChannelView): WireProduct[] {
  return rows.map((row) => toProduct(row, view)).filter((product) => product !== undefined)
}

/** Takes the steps where each answer is there at once. */
export function takeSteps<Result>(steps: Steps<Result>, answer: (step: PageStep) => StepAnswer): Result {
  let taken = steps.next()
  while (!taken.done) taken = steps.next(answer(taken.value))
  return taken.value
}
