import { CatalogInvalidError, CatalogTooLargeError } from '../errors.ts'

/** What is known of a page of one product that is too large to be parsed. */
export type SkimmedPage = Readonly<{ gtin: string | undefined; nextCursor: string | null }>

/** A longer text is no GTIN or cursor. */
const MAX_TEXT_BYTES: number = 16 * 1024

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c] as const
/** `{`, `[` and `}`, `]` differ by these bits only. */
const [OPEN_BRACE, OPEN_BRACKET, CLOSE_BRACE, CLOSE_BRACKET] = [0x7b, 0x5b, 0x7d, 0x5d] as const

/** Depth of the page's own properties, and of those of its products. */
const PAGE_DEPTH = 1
const PRODUCT_DEPTH = 3

/**
 * Read the cursor and the GTIN of a page of one product, in any order of its fields, without keeping the rest.
 * @throws CatalogTooLargeError when it has several products; CatalogInvalidError when it is not a page
 */
export async function skimPage(chunks: AsyncIterable<Buffer>): Promise<SkimmedPage> {
  const scan = createScan()
  for await (const chunk of chunks) scan.push(chunk)
  return scan.end()
}

/** Scan JSON byte by byte: only the texts at two depths are kept. */
function createScan() {
  let depth = 0
  let isInText = false
  let isEscaped = false
  let isValue = false
  /** Bytes of the current text; `undefined`: it is not kept. */
  let textBytes: number[] | undefined
  /** The last property at the current kept depth, and the property of the page that contains it. */
  let key = ''
  let pageKey = ''
  let products = 0
  const found: { gtin?: string; nextCursor?: string } = {}
  let isCursorInvalid = false

  const isCursorValue = (): boolean => isValue && depth === PAGE_DEPTH && key === 'next_cursor'

  const isKept = (): boolean => {
    if (depth === PAGE_DEPTH) return !isValue || key === 'next_cursor'
    return depth === PRODUCT_DEPTH && pageKey === 'items' && (!isValue || key === 'gtin')
  }

  const keepByte = (byte: number): void => {
    if (textBytes === undefined) return
    textBytes.push(byte)
    if (textBytes.length <= MAX_TEXT_BYTES) return
    textBytes = undefined
    if (!isValue) key = ''
    if (isCursorValue()) isCursorInvalid = true
  }

  const endText = (bytes: readonly number[]): void => {
    const text = parseText(bytes)
    if (!isValue) {
      key = text
      if (depth === PAGE_DEPTH) pageKey = text
    } else if (depth === PAGE_DEPTH && key === 'next_cursor') found.nextCursor = text
    else if (depth === PRODUCT_DEPTH && key === 'gtin') found.gtin = text
  }

  const readByte = (byte: number): void => {
    if (isInText) {
      if (!isEscaped && byte === QUOTE) {
        isInText = false
        if (textBytes !== undefined) endText(textBytes)
        return
      }
      isEscaped = !isEscaped && byte === BACKSLASH
      keepByte(byte)
      return
    }
    switch (byte) {
      case QUOTE:
        isInText = true
        textBytes = isKept() ? [] : undefined
        return
      case COLON:
        isValue = true
        return
      case COMMA:
        isValue = false
        return
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (isCursorValue()) isCursorInvalid = true
        depth += 1
        isValue = false
        if (depth === PRODUCT_DEPTH && pageKey === 'items') products += 1
        return
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth -= 1
        isValue = false
        return
      default:
        // Of other values, only `null` is a cursor.
        if (isCursorValue() && !/[\snul]/.test(String.fromCharCode(byte))) isCursorInvalid = true
    }
  }

  /** Return the position of the next quote in a text that is not kept: almost all bytes are in such texts. */
  const skipText = (chunk: Buffer, start: number): number => {
    const quote = chunk.indexOf(QUOTE, start)
    const end = quote === -1 ? chunk.length : quote
    let backslashes = 0
    while (end - backslashes > start && chunk[end - backslashes - 1] === BACKSLASH) backslashes += 1
    isEscaped = backslashes % 2 === 1
    return end
  }

  return {
    push(chunk: Buffer): void {
      for (let position = 0; position < chunk.length; position += 1) {
        if (isInText && textBytes === undefined && !isEscaped) position = skipText(chunk, position)
        const byte = chunk[position]
        if (byte !== undefined) readByte(byte)
      }
    },
    end(): SkimmedPage {
      if (products > 1) throw new CatalogTooLargeError('the catalog sends more products than requested')
      if (depth !== 0 || isInText || isCursorInvalid || products !== 1)
        throw new CatalogInvalidError('the response is too large, and it is not a page of one product')
      return { gtin: found.gtin, nextCursor: found.nextCursor ?? null }
    },
  }
}

/** @throws CatalogInvalidError */
function parseText(bytes: readonly number[]): string {
  try {
    return JSON.parse(`"${Buffer.from(bytes).toString('utf8')}"`) as string
  } catch {
    throw new CatalogInvalidError('the response is not JSON in UTF-8')
  }
}
