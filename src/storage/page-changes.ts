import type { Product } from '../catalog/contract.ts'
import { type StoredShape, completeShape, toShownProduct } from './rows.ts'
import type { WalkPage } from './store.ts'

/** What a page changes: its products beside the versions that the copy has of them. Pure. */

/** A version that the running walk may have to do with: not ended before it. */
export type Version = Readonly<{
  id: number
  gtin: string
  from_walk: number
  until_walk: number | null
  digest: string
  brand: string | null
  as_of_ms: number
}>

/** A page's products of a range, with what the copy has there; both in the order of their GTINs. */
export type Comparison = Readonly<{
  page: Pick<WalkPage, 'walk' | 'asOfMs'>
  products: readonly Product[]
  versions: readonly Version[]
  /** Products of which something newer than the page says that no shop sells them. */
  absent: ReadonlySet<string>
}>

/**
 * What has to be written for one product: its version is current again, ends, goes, is written over, or a new one comes
 * (`insert`), which ends the one before it (`version`).
 */
export type Change = Readonly<{
  kind: 'revive' | 'end' | 'delete' | 'update' | 'insert'
  gtin: string
  version: Version | undefined
  shape: StoredShape | undefined
}>

/**
 * Compare a page with the copy, only as far as the changes are asked for.
 * @yields the changes of a range in the order of GTINs: of the products of the page, and of those that it does not have
 */
export function* listChanges({ page, products, versions, absent }: Comparison): Generator<Change> {
  let at = 0
  for (const product of products) {
    let version = versions[at]
    for (; version !== undefined && version.gtin < product.gtin; version = versions[++at])
      yield* findEnd(version, page)
    const own: Version[] = []
    for (; version?.gtin === product.gtin; version = versions[++at]) own.push(version)
    if (!absent.has(product.gtin)) yield* findChange(product, own, page)
  }
  for (const version of versions.slice(at)) yield* findEnd(version, page)
}

/** One that the running walk made is written over; any other is replaced. */
function findChange(
  product: Product,
  versions: readonly Version[],
  page: Comparison['page'],
): readonly Change[] {
  const { gtin } = product
  const staged = versions.find((version) => version.from_walk === page.walk)
  const newest = staged ?? versions.find((version) => version.from_walk < page.walk)
  if (newest !== undefined && newest.as_of_ms > page.asOfMs) return findRevival(newest)
  const shown = toShownProduct(product, newest?.brand)
  if (newest?.digest === shown.content.digest) return findRevival(newest)
  const kind = staged === undefined ? 'insert' : 'update'
  return [{ kind, gtin, version: newest, shape: completeShape(shown) }]
}

function findRevival(version: Version): readonly Change[] {
  if (version.until_walk === null) return []
  return [{ kind: 'revive', gtin: version.gtin, version, shape: undefined }]
}

/** What a page lacks is gone, unless a look-up has seen it since. */
function findEnd(version: Version, page: Comparison['page']): readonly Change[] {
  if (version.until_walk !== null || version.as_of_ms > page.asOfMs) return []
  const kind = version.from_walk === page.walk ? 'delete' : 'end'
  return [{ kind, gtin: version.gtin, version, shape: undefined }]
}
