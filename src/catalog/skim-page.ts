import { CatalogInvalidError, CatalogTooLargeError } from '../errors.ts'
import { type OutgoingResponse, streamDecoded } from '../outgoing/fetch.ts'

/** What is known of a page of one product that is too large to be parsed. */
export type SkimmedPage = Readonly<{ gtin: string | undefined; nextCursor: string | null }>

/** A longer text is no GTIN or cursor. */
const MAX_TEXT_BYTES: number = 16 * 1024

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c] as const
const [OPEN_BRACE, OPEN_BRACKET, CLOSE_BRACE, CLOSE_BRACKET] = [0x7b, 0x5b, 0x7d, 0x5d] as const

/** Depth of the page's own properties, and of those of its products. */
const PAGE_DEPTH = 1
const PRODUCT_DEPTH = 3

/** How much more of a page of one product is read than is parsed, to learn which product it is. */
const SKIMMED_FACTOR = 16

/**
 * Read GTIN and cursor of a page of one product that can be larger than `maxBytes`, without keeping the rest.
 * @throws CatalogInvalidError, CatalogTooLargeError, RequestError
 */
export function readSkimmedPage(response: OutgoingResponse, maxBytes: number): Promise<SkimmedPage> {
  return streamDecoded(response, SKIMMED_FACTOR * maxBytes, skimPage)
}

/**
 * Read the cursor and the GTIN of a page of one product, in any order of its fields, without keeping the rest.
 * @throws CatalogTooLargeError when it has several products; CatalogInvalidError when it is not a page
 */
export async function skimPage(chunks: AsyncIterable<Buffer>): Promise<SkimmedPage> {
  const scan = new PageScan()
  for await (const chunk of chunks) scan.push(chunk)
  return scan.end()
}

/** Scans JSON byte by byte. Only names at two depths and two values are kept. */
class PageScan {
  #depth = 0
  #isInText = false
  #isEscaped = false
  #isValue = false
  /** Bytes of the current text; `undefined`: it is not kept. */
  #textBytes: number[] | undefined
  /** The last name, and the name of the page's property that contains it. */
  #key = ''
  #pageKey = ''
  #products = 0
  #gtin: string | undefined
  #nextCursor: string | null = null
  #isCursorInvalid = false

  push(chunk: Buffer): void {
    for (let position = 0; position < chunk.length; position += 1) {
      if (this.#isInText && this.#textBytes === undefined && !this.#isEscaped)
        position = this.#skipText(chunk, position)
      const byte = chunk[position]
      if (byte === undefined) return
      if (this.#isInText) this.#readTextByte(byte)
      else this.#readByte(byte)
    }
  }

  end(): SkimmedPage {
    if (this.#products > 1) throw new CatalogTooLargeError('the catalog sends more products than requested')
    if (this.#depth !== 0 || this.#isInText || this.#isCursorInvalid || this.#products !== 1)
      throw new CatalogInvalidError('the response is too large, and it is not a page of one product')
    return { gtin: this.#gtin, nextCursor: this.#nextCursor }
  }

  /** Return the position of the next quote in a text that is not kept: almost all bytes are in such texts. */
  #skipText(chunk: Buffer, start: number): number {
    const quote = chunk.indexOf(QUOTE, start)
    const end = quote === -1 ? chunk.length : quote
    let backslashes = 0
    while (end - backslashes > start && chunk[end - backslashes - 1] === BACKSLASH) backslashes += 1
    this.#isEscaped = backslashes % 2 === 1
    return end
  }

  #readTextByte(byte: number): void {
    if (!this.#isEscaped && byte === QUOTE) {
      this.#isInText = false
      if (this.#textBytes !== undefined) this.#endText(parseText(this.#textBytes))
      return
    }
    this.#isEscaped = !this.#isEscaped && byte === BACKSLASH
    if (this.#textBytes === undefined) return
    this.#textBytes.push(byte)
    if (this.#textBytes.length <= MAX_TEXT_BYTES) return
    this.#textBytes = undefined
    if (!this.#isValue) this.#key = ''
    if (this.#isCursorValue()) this.#isCursorInvalid = true
  }

  #endText(text: string): void {
    if (!this.#isValue) {
      this.#key = text
      if (this.#depth === PAGE_DEPTH) this.#pageKey = text
    } else if (this.#depth === PAGE_DEPTH) this.#nextCursor = text || null
    else this.#gtin = text
  }

  #readByte(byte: number): void {
    if (byte === QUOTE) {
      this.#isInText = true
      this.#textBytes = this.#isKept() ? [] : undefined
    } else if (byte === COLON) this.#isValue = true
    else if (byte === COMMA) this.#isValue = false
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#close()
    else this.#readValueByte(byte)
  }

  #close(): void {
    this.#depth -= 1
    this.#isValue = false
  }

  /** The start of an object or list, or a part of a value without quotes. Of these, only `null` is a cursor. */
  #readValueByte(byte: number): void {
    if (this.#isCursorValue() && !NULL_CHARACTER.test(String.fromCharCode(byte))) this.#isCursorInvalid = true
    if (byte !== OPEN_BRACE && byte !== OPEN_BRACKET) return
    this.#depth += 1
    this.#isValue = false
    if (this.#depth === PRODUCT_DEPTH && this.#pageKey === 'items') this.#products += 1
  }

  #isCursorValue(): boolean {
    return this.#isValue && this.#depth === PAGE_DEPTH && this.#key === 'next_cursor'
  }

  #isKept(): boolean {
    if (this.#depth === PAGE_DEPTH) return !this.#isValue || this.#key === 'next_cursor'
    const isInProduct = this.#depth === PRODUCT_DEPTH && this.#pageKey === 'items'
    return isInProduct && (!this.#isValue || this.#key === 'gtin')
  }
}

/** A character of `null`, or white space around it. */
const NULL_CHARACTER = /[\snul]/

/** @throws CatalogInvalidError */
function parseText(bytes: readonly number[]): string {
  try {
    return JSON.parse(`"${Buffer.from(bytes).toString('utf8')}"`) as string
  } catch {
    throw new CatalogInvalidError('the response is not JSON in UTF-8')
  }
}
