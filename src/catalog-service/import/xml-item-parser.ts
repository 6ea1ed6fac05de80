import type { SaxesTagNS } from 'saxes'
import { ImportError } from '../../errors.ts'
import { UNDECODED } from './encoding.ts'
import { MAX_ROW_BYTES, type SourceRow } from './feed-row.ts'
import {
  UNCLOSED_TARGET,
  createXmlRepair,
  type SaxParser,
  createSaxParser,
  type OpenElement,
  createPathCounter,
  describeMissingItems,
  describeParserError,
  isParserError,
  type TagChecks,
  countLineBreaks,
  escapePattern,
  toOpenTag,
} from './xml-syntax.ts'

const MAX_DEPTH = 100

/** Characters before the first element; bounds memory for an endless document type. */
const MAX_PROLOG_CHARACTERS: number = 64 * 1024

/** Enough to find the end of the root element. */
const MAX_END_CHARACTERS = 1_000
/** In longer tags, damage is not found to belong to an item. */
const MAX_TAG_CHARACTERS = 2_000

const UNDECODED_REASON = 'has bytes that cannot be decoded'
const UNCLOSED_REASON =
  'a comment or CDATA section contains the end of the item and more elements: it is probably not closed'

/** Collects the fields of items. Levels are relative to the item, which has level 0. */
export type ItemCollector = Readonly<{
  /** For messages. */
  itemName: string
  /** `names`: of the open elements, the outermost first. */
  isItem(names: readonly string[], tag: SaxesTagNS): boolean
  /** Begin an item in the element `parent`. */
  begin?(parent: SaxesTagNS): void
  open(tag: SaxesTagNS, level: number): void
  text(piece: string): void
  close(tag: SaxesTagNS, level: number): void
  /** Return the item, and begin the next one. */
  finish(row: number, bytes: number): SourceRow
}> &
  TagChecks

/**
 * Where to read on after damage: at the next item, at the tag that was read, which begins another item, or after it, because it
 * closes what is not open. In the head, that is no damage of an item.
 */
type Continuation = 'next item' | 'tag' | 'after tag' | 'after tag of the head'

/** Thrown inside the parser when the current item is damaged. */
class DamagedItemError extends Error {
  readonly continuation: Continuation

  constructor(message: string, continuation: Continuation) {
    super(message)
    this.continuation = continuation
  }
}

/** An open element outside of items. `isDamaged`: an attribute has bytes that cannot be decoded. */
type OuterElement = Readonly<{ tag: SaxesTagNS; isDamaged: boolean }>

/** The outer element that was closed last, and where. */
type ClosedOuter = Readonly<{ element: OuterElement; position: number }>

/** What is read to the next item after a damaged one. `start`: matches a CDATA section, the beginning of an item, or the end around it. */
type Search = { readonly start: RegExp; characters: number; end: string }

/**
 * Parses items. Damage rejects its item alone, and a tag that is not open one more row: a new parser continues. In the head and at the
 * end, damage is an ImportError.
 */
export class XmlItemParser {
  readonly #file: string
  readonly #collector: ItemCollector
  readonly #repair: ReturnType<typeof createXmlRepair>
  readonly #paths = createPathCounter()
  readonly #items: SourceRow[] = []
  #parser: SaxParser
  /** Characters that the parser has read completely. Between two pieces, its `position` is wrong. */
  #readCharacters = 0
  /** The end of the text before. */
  #lastText = ''
  /** Lines before the first one of the parser. */
  #skippedLines = 0
  /** Open elements, the outermost first, and those of them that are outside of items, which each new parser needs. */
  #open: OpenElement[] = []
  #outer: OuterElement[] = []
  #closed: OpenElement | undefined
  #closedOuter: ClosedOuter | undefined
  #row = 0
  /** Of the item that is read; 0 between items. */
  #itemDepth = 0
  #itemName = ''
  /** Where the item began, or the last one ended. */
  #position = 0
  /** Where the root element ends. */
  #endPosition = Infinity
  /** Why the item must be rejected. */
  #problem: string | undefined
  #search: Search | undefined
  /** Whether text follows the document. */
  #isComplete = false
  #hasUndecoded = false
  #isClosing = false
  /** The first damage before any item; the file may have none. */
  #headError: ImportError | undefined

  constructor(file: string, collector: ItemCollector) {
    this.#file = file
    this.#collector = collector
    this.#repair = createXmlRepair(collector.hasItemBoundary)
    this.#parser = this.#openParser()
  }

  /** Return the items that end in this piece of the file. @throws ImportError */
  parse(piece: string): SourceRow[] {
    this.#hasUndecoded ||= piece.includes(UNDECODED)
    this.#write(this.#repair.repair(piece))
    this.#checkSectionLength()
    this.#checkLength()
    return this.#items.splice(0)
  }

  /** Return the rest of the items. @throws ImportError when the file is not complete, or has no item. */
  close(): SourceRow[] {
    this.#write(this.#repair.finish())
    this.#isClosing = true
    if (this.#search !== undefined) this.#checkEnd(this.#search)
    else if (!this.#isComplete) this.#tryToParse(() => this.#parser.close())
    if (this.#row === 0) throw this.#headError ?? this.#createMissingError()
    return this.#items
  }

  /** With one more kind of event, V8 takes five times as long for the parser's properties. */
  #openParser(): SaxParser {
    const parser = createSaxParser(this.#file)
    const addText = (text: string): void => this.#addText(text)
    parser.on('text', addText)
    parser.on('cdata', addText)
    parser.on('opentag', (tag) => this.#openElement(tag))
    parser.on('closetag', (tag) => this.#closeElement(tag))
    parser.on('processinginstruction', ({ target }) => {
      if (target === UNCLOSED_TARGET && this.#itemDepth > 0) this.#problem ??= UNCLOSED_REASON
    })
    return parser
  }

  #write(text: string): void {
    for (let rest = text; rest !== '';) {
      if (this.#search !== undefined) rest = this.#findNextItem(rest, this.#search)
      if (this.#search !== undefined || this.#isComplete) return
      const damage = this.#tryToParse(() => this.#parser.write(rest), rest)
      if (damage === undefined) {
        this.#readCharacters += rest.length
        this.#lastText = rest.slice(-MAX_TAG_CHARACTERS)
        return
      }
      rest = this.#rejectItem(damage, rest)
    }
  }

  /** Return the damage of an item in the text, if it has any. @throws ImportError for damage elsewhere */
  #tryToParse(parse: () => unknown, text: string = ''): DamagedItemError | undefined {
    try {
      parse()
      return undefined
    } catch (error) {
      if (error instanceof DamagedItemError) return error
      // The parser throws errors without a class of their own.
      if (!isParserError(error)) throw error
      return this.#toDamage(error, text)
    }
  }

  #addText(text: string): void {
    if (this.#itemDepth === 0) return
    if (this.#hasUndecoded && text.includes(UNDECODED)) this.#problem ??= UNDECODED_REASON
    if (this.#open.length > this.#itemDepth) this.#collector.text(text)
  }

  #openElement(tag: SaxesTagNS): void {
    this.#open.push({ name: tag.name, line: this.#toLine(this.#parser.line) })
    const depth = this.#open.length
    if (depth > MAX_DEPTH) throw new ImportError(`${this.#file} nests elements more than ${MAX_DEPTH} deep`)
    const isDamaged = this.#hasDamagedAttribute(tag)
    if (this.#itemDepth === 0) this.#openOuterElement(tag, isDamaged)
    else if (depth === this.#itemDepth + 1 && tag.name === this.#itemName && this.#isItem(tag))
      throw new DamagedItemError(`line ${this.#open.at(-1)?.line}: another item begins before it ends`, 'tag')
    if (this.#itemDepth === 0) return
    if (isDamaged) this.#problem ??= UNDECODED_REASON
    this.#collector.open(tag, depth - this.#itemDepth)
  }

  #openOuterElement(tag: SaxesTagNS, isDamaged: boolean): void {
    if (this.#isItem(tag)) {
      this.#itemDepth = this.#open.length
      this.#itemName = tag.name
      this.#position = this.#parser.position
      this.#problem = this.#outer.some((element) => element.isDamaged) ? UNDECODED_REASON : undefined
      const parent = this.#outer.at(-1)
      if (parent !== undefined) this.#collector.begin?.(parent.tag)
      return
    }
    this.#outer.push({ tag, isDamaged })
    if (this.#row === 0) this.#paths.add(this.#listNames())
  }

  #isItem(tag: SaxesTagNS): boolean {
    return this.#collector.isItem(this.#listNames(), tag)
  }

  #listNames(): readonly string[] {
    return this.#open.map(({ name }) => name)
  }

  #hasDamagedAttribute({ attributes }: SaxesTagNS): boolean {
    return this.#hasUndecoded && Object.values(attributes).some(({ value }) => value.includes(UNDECODED))
  }

  #closeElement(tag: SaxesTagNS): void {
    const level = this.#open.length - this.#itemDepth
    this.#closed = this.#open.pop()
    if (this.#open.length === 0) this.#endPosition = this.#parser.position
    if (this.#itemDepth === 0) {
      const element = this.#outer.pop()
      this.#closedOuter = element && { element, position: this.#parser.position }
      return
    }
    this.#collector.close(tag, level)
    if (level === 0) this.#finishItem(this.#problem)
  }

  #finishItem(reason: string | undefined): void {
    this.#row += 1
    const item = this.#collector.finish(this.#row, this.#parser.position - this.#position)
    this.#items.push(reason === undefined ? item : { ...item, problem: { field: 'row', reason } })
    this.#itemDepth = 0
    this.#position = this.#parser.position
  }

  /** Return the damage of the current item; `undefined` when the document is complete: programs append messages to it. */
  #toDamage(error: Error, text: string): DamagedItemError | undefined {
    const { position } = this.#parser
    this.#isComplete = position > this.#endPosition
    if (this.#isComplete) return undefined
    const toLine = (line: number): number => this.#toLine(line)
    const reason = describeParserError(error.message, {
      toLine,
      closed: this.#closed,
      open: this.#open.at(-1),
    })
    if (this.#isClosing) throw this.#createError(reason, error)
    if (this.#itemDepth > 0) return new DamagedItemError(reason, 'next item')
    return this.#toOuterDamage(reason, error, text)
  }

  /** Return damage between items, or in the head. A closing tag of nothing closes the element around it first, then is an error. */
  #toOuterDamage(reason: string, error: Error, text: string): DamagedItemError {
    const { position } = this.#parser
    const isItemClosed = this.#row > 0 && this.#position === position
    if (isItemClosed) {
      this.#items.pop()
      this.#row -= 1
      return new DamagedItemError(reason, 'next item')
    }
    if (this.#closedOuter?.position === position) {
      const isItem = this.#closeOuter(this.#closedOuter.element, text)
      if (isItem || this.#row > 0) return new DamagedItemError(reason, 'after tag')
      this.#headError ??= this.#createError(reason, error)
      return new DamagedItemError(reason, 'after tag of the head')
    }
    if (this.#row === 0 && !this.#isInItemTag(text)) throw this.#createError(reason, error)
    return new DamagedItemError(reason, 'next item')
  }

  /**
   * Close the outer element that the tag names, with those in it, which were not closed; none if it is not open. Return whether it
   * names an item.
   */
  #closeOuter(closed: OuterElement, text: string): boolean {
    this.#endPosition = Infinity
    this.#outer.push(closed)
    const read = this.#countRead(text)
    const end = text.slice(Math.max(0, text.lastIndexOf('</', read - 1)), read)
    const [, name] = /^<\/([^\s<>/]+)/.exec(end) ?? []
    const index = this.#outer.findLastIndex(({ tag }) => tag.name === name)
    if (index > 0) this.#outer.length = index
    return new RegExp(`^</${this.#collector.tagPattern}[\\s>]`, 'i').test(end)
  }

  /** Whether the damage is in the start tag of an item. */
  #isInItemTag(text: string): boolean {
    const read = this.#lastText + text.slice(0, this.#countRead(text))
    const starts = [...read.matchAll(new RegExp(`<${this.#collector.tagPattern}(?=[\\s/<"'=])`, 'gi'))]
    const start = starts.at(-1)?.index
    // Some errors are found at the end of the tag.
    return start !== undefined && !read.slice(start, -1).includes('>')
  }

  #countRead(text: string): number {
    return Math.min(text.length, this.#parser.position - this.#readCharacters)
  }

  #createError(reason: string, cause: Error): ImportError {
    return new ImportError(`${this.#file} is not well-formed XML: ${reason}`, { cause })
  }

  /** Reject the item, and return the text after the damage. */
  #rejectItem({ message, continuation }: DamagedItemError, text: string): string {
    const readTo = this.#countRead(text)
    const from = continuation === 'tag' ? text.lastIndexOf('<', readTo - 1) : readTo
    if (continuation !== 'after tag of the head') this.#finishItem(`is not well-formed XML: ${message}`)
    this.#skippedLines += this.#parser.line - 1 - countLineBreaks(text.slice(from, readTo))
    if (continuation.startsWith('after tag')) this.#restart()
    else this.#search = { start: this.#createSearchPattern(), characters: 0, end: '' }
    return text.slice(from)
  }

  /** Match CDATA sections, which are skipped, the start of an item, and the end of the element around the items. */
  #createSearchPattern(): RegExp {
    const outer = this.#outer.at(-1)?.tag.name
    const item = this.#itemName === '' ? this.#collector.tagPattern : escapePattern(this.#itemName)
    const end = outer === undefined ? '' : `|</${escapePattern(outer)}(?=[\\s>])`
    return new RegExp(`<!\\[CDATA\\[[^]*?\\]\\]>|<${item}(?=[\\s/>])${end}`, 'g')
  }

  /** Find the next item, and open a parser for it. Return the text from there on. */
  #findNextItem(text: string, search: Search): string {
    const found = findTag(text, search.start)
    const skipped = text.slice(0, found?.index ?? text.length)
    this.#skippedLines += countLineBreaks(skipped)
    search.characters += skipped.length
    search.end = (search.end + skipped).slice(-MAX_END_CHARACTERS)
    if (found === undefined) return ''
    this.#search = undefined
    this.#restart()
    return text.slice(found.index)
  }

  /** Open a new parser within the open elements that are outside of items. */
  #restart(): void {
    const outer = this.#outer
    this.#outer = []
    this.#open = []
    this.#parser = this.#openParser()
    this.#readCharacters = 0
    for (const tag of outer.map((element) => toOpenTag(element.tag))) {
      this.#parser.write(tag)
      this.#readCharacters += tag.length
    }
    this.#outer = outer
    this.#position = this.#readCharacters
  }

  #toLine(line: number): number {
    return line + this.#skippedLines + this.#repair.countSkippedLines()
  }

  #createMissingError(): ImportError {
    return new ImportError(describeMissingItems(this.#file, this.#collector.itemName, this.#paths.findItem()))
  }

  #checkSectionLength(): void {
    if (this.#repair.countKept() <= MAX_ROW_BYTES) return
    const line = this.#toLine(this.#parser.line)
    throw new ImportError(`${this.#file}: the comment or CDATA section of line ${line} does not end`)
  }

  #checkLength(): void {
    const file = this.#file
    const sinceItem = this.#search?.characters ?? this.#readCharacters - this.#position
    const isInProlog = this.#open.length === 0 && this.#row === 0 && this.#closed === undefined
    if (isInProlog && sinceItem > MAX_PROLOG_CHARACTERS)
      throw new ImportError(`${file} has no element in its first ${MAX_PROLOG_CHARACTERS} characters`)
    if (sinceItem <= MAX_ROW_BYTES) return
    if (this.#row === 0 && this.#itemDepth === 0) throw this.#createMissingError()
    throw new ImportError(`${file}: more than ${MAX_ROW_BYTES} characters without the end of an item`)
  }

  /** Check that the file is complete, although its last item is damaged. */
  #checkEnd({ end }: Search): void {
    const root = this.#outer[0]?.tag.name
    if (root !== undefined && !new RegExp(`</${escapePattern(root)}\\s*>\\s*$`).test(end))
      throw new ImportError(`${this.#file} is not complete: it ends before </${root}>`)
  }
}

/** Find the first match that is no CDATA section. */
function findTag(text: string, pattern: RegExp): RegExpExecArray | undefined {
  for (const found of text.matchAll(pattern)) if (!found[0].startsWith('<!')) return found
  return undefined
}
