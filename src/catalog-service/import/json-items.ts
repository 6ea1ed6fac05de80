import { ImportError } from '../../errors.ts'
import { MAX_ROW_BYTES } from './feed-row.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const SPACE = 0x20

/** A longer key is not part of a path. */
const MAX_KEY_BYTES = 1_000

/**
 * Split a JSON array into its items, which are not parsed. Memory is bounded by one chunk and one item.
 * `path`: keys of the objects around the array, the outermost first; empty: the file is the array.
 * @yields the items that end in each chunk
 * @throws ImportError when there is no such array, or the file ends before its end.
 */
export async function* readJsonArray(
  chunks: AsyncIterable<Buffer>,
  file: string,
  path: readonly string[],
): AsyncGenerator<FeedLine[]> {
  const splitter = createArraySplitter(file, path)
  for await (const chunk of chunks) yield splitter.split(chunk)
  splitter.close()
}

function createArraySplitter(file: string, path: readonly string[]) {
  const finder = createArrayFinder(path)
  const collector = createLineCollector()
  let items: FeedLine[] = []
  /** Open objects and arrays, and those at the array's items; `arrayDepth` is 0 outside of the array. */
  let [depth, arrayDepth] = [0, 0]
  let [isInString, isEscaped, isFound] = [false, false, false]
  let key: number[] = []
  let start = 0

  const scanString = (byte: number): void => {
    if (isEscaped) isEscaped = false
    else if (byte === BACKSLASH) isEscaped = true
    else if (byte === QUOTE) isInString = false
    if (isInString && arrayDepth === 0 && key.length <= MAX_KEY_BYTES) key.push(byte)
  }
  const endItem = (chunk: Buffer, end: number): void => {
    collector.add(chunk.subarray(start, end))
    const item = collector.take()
    if (item.bytes.some((byte) => byte > SPACE)) items.push(item)
    start = end + 1
  }
  const open = (byte: number, at: number): void => {
    depth += 1
    if (isFound || arrayDepth > 0 || !finder.open(byte, depth)) return
    arrayDepth = depth
    start = at + 1
  }
  const close = (byte: number, chunk: Buffer, at: number): void => {
    if (depth === 0 || (depth === arrayDepth && byte !== CLOSE_BRACKET))
      throw new ImportError(`${file} is not valid JSON: it has more closing than opening brackets`)
    if (depth === arrayDepth) {
      endItem(chunk, at)
      arrayDepth = 0
      isFound = true
    }
    depth -= 1
    finder.close(depth)
  }
  const scan = (byte: number, chunk: Buffer, at: number): void => {
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) open(byte, at)
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) close(byte, chunk, at)
    else if (arrayDepth === 0) finder.setKey(byte === COLON ? Buffer.from(key).toString() : '', depth)
    else if (byte === COMMA && depth === arrayDepth) endItem(chunk, at)
  }
  return {
    split(chunk: Buffer): FeedLine[] {
      items = []
      start = 0
      for (let at = 0; at < chunk.length; at += 1) {
        const byte = chunk[at] ?? 0
        if (isInString) scanString(byte)
        else if (byte <= SPACE) continue
        else if (depth === 0 && isFound) throw new ImportError(`${file} has text after the end of its JSON`)
        else if (byte === QUOTE) {
          isInString = true
          key = []
        } else scan(byte, chunk, at)
      }
      if (arrayDepth > 0) collector.add(chunk.subarray(start))
      return items
    },
    close(): void {
      if (depth > 0 || isInString)
        throw new ImportError(`${file} ends in the middle of its JSON: it is not complete`)
      const location = path.length === 0 ? '' : ` at "${path.join('.')}"`
      if (!isFound) throw new ImportError(`${file} has no JSON array${location}`)
    },
  }
}

/** Follows the keys of the path. The object at depth `matchedKeys + 1` is the innermost open one on it. */
function createArrayFinder(path: readonly string[]) {
  let matchedKeys = 0
  let isKeyFound = false
  return {
    setKey(key: string, depth: number): void {
      isKeyFound = depth === matchedKeys + 1 && key === path[matchedKeys]
    },
    /** Return whether the array begins. `depth` includes the opened object or array. */
    open(byte: number, depth: number): boolean {
      if (path.length === 0) return depth === 1 && byte === OPEN_BRACKET
      const isNext = isKeyFound && depth === matchedKeys + 2
      isKeyFound = false
      if (!isNext) return false
      if (matchedKeys === path.length - 1) return byte === OPEN_BRACKET
      if (byte === OPEN_BRACE) matchedKeys += 1
      return false
    },
    close(depth: number): void {
      if (matchedKeys > 0 && depth === matchedKeys) matchedKeys -= 1
    },
  }
}

/** Bytes of an overlong line that are kept for the reject. */
const HEAD_BYTES = 2_000

const LINE_FEED = 0x0a

/** A line without its line end, or an item of a JSON array. `row` counts from 1. An overlong one has only its first bytes. */
export type FeedLine = Readonly<{ row: number; bytes: Buffer; isTooLong: boolean }>

/** Joins the pieces of a line or item from several chunks. */
function createLineCollector() {
  let pieces: Buffer[] = []
  let sizeBytes = 0
  let row = 0
  return {
    add(piece: Buffer): void {
      if (sizeBytes <= MAX_ROW_BYTES) pieces.push(piece)
      sizeBytes += piece.length
    },
    isEmpty: (): boolean => sizeBytes === 0,
    take(): FeedLine {
      const isTooLong = sizeBytes > MAX_ROW_BYTES
      const bytes = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
      pieces = []
      sizeBytes = 0
      row += 1
      return { row, bytes: isTooLong ? bytes.subarray(0, HEAD_BYTES) : bytes, isTooLong }
    },
  }
}

/**
 * @yields the lines that end in each chunk, including blank ones
 * @throws ImportError when the last line has no line end and is the beginning of a JSON object
 */
export async function* readLines(chunks: AsyncIterable<Buffer>, file: string): AsyncGenerator<FeedLine[]> {
  const collector = createLineCollector()
  for await (const chunk of chunks) {
    const lines: FeedLine[] = []
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      collector.add(chunk.subarray(start, end))
      lines.push(collector.take())
      start = end + 1
    }
    if (start < chunk.length) collector.add(chunk.subarray(start))
    yield lines
  }
  if (collector.isEmpty()) return
  const last = collector.take()
  if (isCut(last)) throw new ImportError(`${file} ends in the middle of line ${last.row}: it is not complete`)
  yield [last]
}

function isCut({ bytes, isTooLong }: FeedLine): boolean {
  const text = bytes.toString().trimStart()
  return !isTooLong && text.startsWith('{') && parseJson(text) === undefined
}

/** Return `undefined` when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Fatal, so that invalid UTF-8 is rejected instead of replaced. Removes a byte order mark. */
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Return `undefined` when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** A string of JSON, and the colon after one that is a name. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g

/**
 * Whether an object of a JSON text repeats a name, of which `JSON.parse` keeps the last value: a piece of the file may be
 * missing, so that two items became one. `json`: the parsed text.
 */
export function hasRepeatedName(text: string, json: unknown): boolean {
  const names = countNames(json)
  // Much faster, and right unless names before spaces and values after colons are equally many.
  if (countSeparators(text) === names) return false
  let count = 0
  for (const [, colon] of text.matchAll(STRING)) if (colon !== undefined) count += 1
  return count > names
}

function countSeparators(text: string): number {
  let count = 0
  for (let at = text.indexOf('":'); at !== -1; at = text.indexOf('":', at + 2)) count += 1
  return count
}

/** Without recursion, which deep nesting could exhaust. */
function countNames(json: unknown): number {
  let count = 0
  const rest: object[] = isObject(json) ? [json] : []
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    const isArray = Array.isArray(value)
    // Faster than `Object.values`: each row of a feed comes here.
    for (const name in value) {
      if (!isArray) count += 1
      const inner: unknown = (value as Record<string, unknown>)[name]
      if (isObject(inner)) rest.push(inner)
    }
  }
  return count
}

function isObject(json: unknown): json is object {
  return typeof json === 'object' && json !== null
}
