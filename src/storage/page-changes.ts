import { compareTexts } from '../offers/ranking.ts'
import { hasSameTag, isSourceDigest } from '../sync/page-items.ts'
import {
  type ComparedContent,
  type PageProduct,
  type ShapedProduct,
  type StoredShape,
  completeShape,
  isSameContent,
  withKnownBrand,
} from './rows.ts'
import type { Version } from './sql-page-range.ts'
import type { WalkPage } from './store.ts'

/** What a page changes: its products beside the versions that the copy has of them. Pure. */

/** A page's products of a range, with what the copy has there. */
export type Comparison = Readonly<{
  page: Pick<WalkPage, 'walk' | 'asOfMs'>
  /** Products of the page, up to where the versions are known. */
  shapes: readonly PageProduct[]
  /** In the order of their GTINs. */
  versions: readonly Version[]
  /** Products of which something newer than the page says that no shop sells them. */
  absent: ReadonlySet<string>
}>

/**
 * What has to be written for one product: its version is current again, ends, goes, is written over, or a new one comes
 * (`insert`), which ends the one before it (`version`). `sign`: it is current, and its digest is put in anew.
 */
export type Change = Readonly<{
  kind: 'revive' | 'sign' | 'end' | 'delete' | 'update' | 'insert'
  gtin: string
  version: Version | undefined
  shape: StoredShape | undefined
  /** The digest to sign with. */
  digest?: string
}>

/** A product of the page with its newest version; `kind`: how it is written, over one that the running walk made or as another. */
type Pair = Readonly<{ shape: PageProduct; newest: Version | undefined; kind: 'update' | 'insert' }>

/** Ids of versions whose digest does not tell whether they are what the page says: their content has to be read. */
export function listDoubtful(comparison: Comparison): readonly number[] {
  if (comparison.versions.length === 0) return []
  return pair(comparison).pairs.flatMap(({ shape, newest }) =>
    newest !== undefined && isDoubtful(shape, newest, comparison.page) ? [newest.id] : [],
  )
}

function isDoubtful(shape: PageProduct, version: Version, page: Comparison['page']): boolean {
  if (shape.content === null || version.as_of_ms > page.asOfMs) return false
  const { digest } = withKnownBrand(shape, version.brand)
  return digest !== version.digest && (isSourceDigest(digest) || isSourceDigest(version.digest))
}

/**
 * Does the page take products for known that the copy no longer has as they were? A look-up has said something else since it
 * was asked what it knows, and the page is newer. The page tells only when it is read whole.
 */
export function isOvertaken(comparison: Comparison): boolean {
  return pair(comparison).pairs.some(({ shape, newest }) => {
    if (shape.content !== null || comparison.absent.has(shape.gtin)) return false
    if (newest === undefined) return true
    return newest.as_of_ms <= comparison.page.asOfMs && newest.digest !== shape.digest
  })
}

/**
 * The changes of a range in the order of GTINs: of the products of the page, and of those that it does not have. `contents`: of
 * the doubtful versions, by their ids.
 */
export function listChanges(
  comparison: Comparison,
  contents: ReadonlyMap<number, ComparedContent>,
): readonly Change[] {
  const { page, absent } = comparison
  const { pairs, left } = pair(comparison)
  const changes: Change[] = []
  for (const own of pairs) {
    const change = absent.has(own.shape.gtin) ? undefined : findChange(own, page, contents)
    if (change !== undefined) changes.push(change)
  }
  for (const version of left) {
    const change = findEnd(version, page)
    if (change !== undefined) changes.push(change)
  }
  return changes.sort((a, b) => compareTexts(a.gtin, b.gtin))
}

/** Each product with its newest version; `left` are the versions of products that the page does not have. */
function pair({ page, shapes, versions }: Comparison): Readonly<{ pairs: Pair[]; left: Version[] }> {
  const known = new Map<string, Version[]>()
  for (const version of versions) {
    const own = known.get(version.gtin)
    if (own === undefined) known.set(version.gtin, [version])
    else own.push(version)
  }
  const pairs = shapes.map((shape): Pair => {
    const own = known.get(shape.gtin) ?? []
    known.delete(shape.gtin)
    const staged = own.find((version) => version.from_walk === page.walk)
    const newest = staged ?? own.find((version) => version.from_walk < page.walk)
    return { shape, newest, kind: staged === undefined ? 'insert' : 'update' }
  })
  return { pairs, left: [...known.values()].flat() }
}

function findChange(
  { shape, newest, kind }: Pair,
  page: Comparison['page'],
  contents: ReadonlyMap<number, ComparedContent>,
): Change | undefined {
  if (newest !== undefined && (newest.as_of_ms > page.asOfMs || newest.digest === shape.digest))
    return findRevival(newest)
  // Overtaken: the page is read once more.
  if (shape.content === null) return undefined
  if (newest === undefined) return { kind, gtin: shape.gtin, version: undefined, shape: completeShape(shape) }
  const branded = withKnownBrand(shape, newest.brand)
  if (isSame(branded, newest, contents)) return findSignature(branded, newest) ?? findRevival(newest)
  return { kind, gtin: shape.gtin, version: newest, shape: completeShape(branded) }
}

function isSame(
  { digest, content }: ShapedProduct,
  version: Version,
  contents: ReadonlyMap<number, ComparedContent>,
): boolean {
  const stored = contents.get(version.id)
  return digest === version.digest || (stored !== undefined && isSameContent(content, stored))
}

/**
 * A version that has no digest of bytes, or one by other rules, gets this one, so that the next walk need not parse the product.
 * One by the same rules stays: where the bytes change from walk to walk and say the same, nothing is written.
 */
function findSignature({ gtin, digest }: ShapedProduct, version: Version): Change | undefined {
  if (!isSourceDigest(digest) || hasSameTag(digest, version.digest)) return undefined
  return { kind: 'sign', gtin, version, shape: undefined, digest }
}

function findRevival(version: Version): Change | undefined {
  if (version.until_walk === null) return undefined
  return { kind: 'revive', gtin: version.gtin, version, shape: undefined }
}

/** What a page lacks is gone, unless a look-up has seen it since. */
function findEnd(version: Version, page: Comparison['page']): Change | undefined {
  if (version.until_walk !== null || version.as_of_ms > page.asOfMs) return undefined
  const kind = version.from_walk === page.walk ? 'delete' : 'end'
  return { kind, gtin: version.gtin, version, shape: undefined }
}
