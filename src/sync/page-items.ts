import { hash } from 'node:crypto'
import { VERSION } from '../lib/paths.ts'

/**
 * What a product's bytes become, as a number: raised whenever `parse.ts`, `rows.ts` or what they use gives another product
 * for the same answer. Products of another number, and those of another release, are parsed again.
 */
export const SHAPES = 2

/** Digests of bytes begin with what their product depends on beside them; digests of content never have this sign. */
const SIGN = ':'
const TAG_CHARACTERS = 8

/** Where a page begins, up to its first product, and how it ends, as catalogs write it that add no white space. */
const BEGINNING = '{"items":['
const ENDING = '],"next_cursor":'
const END = /^\],"next_cursor":(?:null|"([ !#-[\]-~]+)")\}\s*$/

/** The products of a page as they came, each from its `{` to its `}`. */
export type PageItems = Readonly<{ items: readonly Buffer[]; nextCursor: string | null }>

/**
 * Cuts a page between its products without parsing it. Products are taken to begin with the same name, such as `{"gtin":`. If
 * each of the parts is JSON, the cuts are right: the page is then the list of these parts and nothing else. `undefined`: the
 * page is not as expected, or has no products.
 */
export function splitPage(page: Buffer): PageItems | undefined {
  const start = BEGINNING.length
  const end = page.lastIndexOf(ENDING)
  if (end <= start || page.toString('latin1', 0, start) !== BEGINNING) return undefined
  const tail = END.exec(page.toString('latin1', end))
  const nameEnd = page.indexOf(':', start)
  if (tail === null || page[start] !== CURLY || nameEnd === -1 || nameEnd > end) return undefined
  const between = Buffer.concat([COMMA, page.subarray(start, nameEnd + 1)])
  const items: Buffer[] = []
  let from = start
  for (let at = page.indexOf(between, from); at !== -1 && at < end; at = page.indexOf(between, from)) {
    items.push(page.subarray(from, at))
    from = at + 1
  }
  items.push(page.subarray(from, end))
  return { items, nextCursor: tail[1] ?? null }
}

const COMMA: Buffer = Buffer.from(',')
const CURLY = 0x7b

/** What digests of a product's bytes begin with; `ownOrigin` decides which pictures may be used. */
export function toSourceTag(ownOrigin: string): string {
  return hash('sha256', `${SHAPES} ${VERSION} ${ownOrigin}`, 'base64url').slice(0, TAG_CHARACTERS) + SIGN
}

/** Digest of a product's bytes. */
export function toSourceDigest(tag: string, item: Buffer): string {
  return tag + hash('sha256', item, 'base64url')
}

/** Is it the digest of bytes, and not of what they say? */
export function isSourceDigest(digest: string): boolean {
  return digest[TAG_CHARACTERS] === SIGN
}

/** Does a digest of bytes depend on the same as another? */
export function hasSameTag(digest: string, other: string): boolean {
  const length = TAG_CHARACTERS + SIGN.length
  return digest.slice(0, length) === other.slice(0, length)
}
