import { SaxesParser, type SaxesTagNS } from 'saxes'
import { ImportError } from '../../errors.ts'
import { NAMED_CHARACTERS } from './entities.ts'
import type { SourceRow } from './source-row.ts'
import { type ItemFields, collectFields } from './xml-fields.ts'

/** Deepest nesting that is followed; a feed has about six levels. */
const MAX_DEPTH = 100

/** Characters before the first element: a document type that never ends is not collected. */
const MAX_PROLOG_CHARACTERS: number = 64 * 1024

/** What an XML feed is read with. `file` is for messages. */
export type XmlOptions = Readonly<{
  file: string
  /** An item above this, or so much without an item, ends the import. */
  maxItemCharacters: number
}>

/**
 * The items of an RSS feed and the entries of an Atom feed, with memory for one piece of the file and one item.
 * @yields the items of each piece, which may be none
 * @throws ImportError when it is not well-formed to its end, holds a document type with declarations, or an item is too long.
 */
export async function* readXmlItems(
  texts: AsyncIterable<string>,
  options: XmlOptions,
): AsyncGenerator<SourceRow[]> {
  const reader = createItemReader(options)
  for await (const text of texts) yield reader.write(text)
  reader.close()
}

type ItemReader = Readonly<{ write(text: string): SourceRow[]; close(): void }>

/**
 * Not even well-formed text is forgiven, but for two things that real feeds have and every reader knows: prefixes that are
 * never declared, and the named characters of HTML.
 */
function createItemReader({ file, maxItemCharacters }: XmlOptions): ItemReader {
  const parser = new SaxesParser({ xmlns: true, resolvePrefix } as const)
  Object.assign(parser.ENTITIES, Object.fromEntries(NAMED_CHARACTERS))
  const collector = createCollector(file)
  parser.on('doctype', (text) => {
    if (text.includes('['))
      throw new ImportError(
        `${file} declares a document type of its own (<!DOCTYPE … [), which no feed needs`,
      )
  })
  parser.on('opentag', (tag) => collector.open(tag, parser.position))
  parser.on('text', collector.text)
  parser.on('cdata', collector.text)
  parser.on('closetag', (tag) => collector.close(tag, parser.position))
  parser.on('error', (error) => {
    throw new ImportError(`${file} is no whole XML: ${toReason(error.message)}`, { cause: error })
  })
  return {
    write(text) {
      if (text.includes('\u0000'))
        throw new ImportError(`${file} holds the character U+0000, which XML has not`)
      parser.write(text)
      const sinceItem = parser.position - collector.getLastPosition()
      if (sinceItem > (collector.hasRoot() ? maxItemCharacters : MAX_PROLOG_CHARACTERS))
        throw new ImportError(`${file}: ${sinceItem} characters without the end of an <item> or <entry>`)
      return collector.take()
    },
    close() {
      parser.close()
      if (!collector.hasItem()) throw new ImportError(`${file} has no <item> and no <entry>`)
    },
  }
}

function resolvePrefix(prefix: string): string {
  return prefix === 'g' ? 'http://base.google.com/ns/1.0' : `undeclared:${prefix}`
}

/** `12:34: unclosed tag: item` in words. */
function toReason(message: string): string {
  const [, line, column, what] = /^(\d+):(\d+): (.*)$/s.exec(message) ?? []
  return what === undefined ? message : `line ${line}, column ${column}: ${what.replace(/\.$/, '')}`
}

type Collector = Readonly<{
  open(tag: SaxesTagNS, position: number): void
  text(text: string): void
  close(tag: SaxesTagNS, position: number): void
  take(): SourceRow[]
  /** Where the last item began or ended. */
  getLastPosition(): number
  hasRoot(): boolean
  hasItem(): boolean
}>

/** Puts items together. */
function createCollector(file: string): Collector {
  let items: SourceRow[] = []
  let item: ItemFields | undefined
  let row = 0
  let depth = 0
  let itemDepth = 0
  let position = 0
  return {
    open(tag, at) {
      depth += 1
      if (depth > MAX_DEPTH) throw new ImportError(`${file} nests elements more than ${MAX_DEPTH} deep`)
      if (item !== undefined) item.open(tag, depth - itemDepth)
      else if (tag.local === 'item' || tag.local === 'entry') {
        item = collectFields()
        itemDepth = depth
        position = at
      }
    },
    text(piece) {
      if (depth > itemDepth) item?.text(piece)
    },
    close(tag, at) {
      item?.close(tag, depth - itemDepth)
      if (item !== undefined && depth === itemDepth) {
        row += 1
        items.push(item.toSourceRow(row, at - position))
        item = undefined
        position = at
      }
      depth -= 1
    },
    take() {
      const taken = items
      items = []
      return taken
    },
    getLastPosition: () => position,
    hasRoot: () => depth > 0 || row > 0,
    hasItem: () => row > 0,
  }
}
