import type { SaxesTagNS } from 'saxes'
import { MAX_READ_OFFERS } from '../../offers/offer-limits.ts'
import { type SourceRow, toColumnName } from './feed-row.ts'
import { isBlockTag } from './feed-values.ts'
import { type ItemCollector, XmlItemParser } from './xml-item-parser.ts'
import { createTagChecks, toRawXml } from './xml-syntax.ts'

/** A step of a path: an element, possibly with `[@attribute=value]`. */
type Step = Readonly<{ name: string; attribute: string | undefined; value: string | undefined }>

/** `attribute`: of the last element; `undefined`: its text. */
type XmlPath = Readonly<{ key: string; steps: readonly Step[]; attribute: string | undefined }>

type PathFields = Map<string, string[]>

type Element = Readonly<{ name: string; attributes: ReadonlyMap<string, string> }>

/** An element whose text is a value. */
type Capture = { readonly level: number; readonly path: XmlPath; text: string; isNested: boolean }

export type PathOptions = Readonly<{
  items: readonly string[]
  offers: string | undefined
  /** Keys of all paths that are read. */
  keys: readonly string[]
  /** Keys of texts that may contain elements. In other values, such as prices, these make the value empty. */
  markupKeys: ReadonlySet<string>
}>

/** Step of a path to an attribute of the element around the item: `../@merchantName`. */
const PARENT = '..'

/** Normalize a path like names of columns: `Products/g:Product[@Name="EAN"]/@ID` gives `products/product[@name=ean]/@id`. */
export function toXmlKey(path: string): string {
  return path
    .split('/')
    .map((step) => {
      const { name, attribute, value } = parseStep(step)
      return attribute === undefined ? name : `${name}[@${attribute}=${value}]`
    })
    .join('/')
}

/** Normalize the name of an element, without a prefix that programs or networks put before all names. */
function toElementName(name: string): string {
  return toColumnName(name.trim().replace(/^(?:ns\d+|td|cj):/i, ''))
}

function parseStep(step: string): Step {
  const [, name = '', attribute, value] =
    /^([^[]*)(?:\[@([^=]*)=["']?([^\]]*?)["']?\])?$/.exec(step.trim()) ?? []
  return {
    name: toElementName(name),
    attribute: attribute === undefined ? undefined : toColumnName(attribute),
    value: value?.toLowerCase(),
  }
}

function parsePath(key: string): XmlPath {
  const steps = key.split('/')
  const attribute = steps.at(-1)?.startsWith('@') === true ? steps.pop()?.slice(1) : undefined
  return { key, steps: steps.map(parseStep), attribute }
}

/** Create a collector that reads paths of an item. Offers are rows of their own that inherit the fields of their item. */
export function createPathCollector(options: PathOptions): ItemCollector {
  const itemPaths = options.items.map((path) => parsePath(toXmlKey(path)).steps)
  const offerSteps = options.offers === undefined ? undefined : parsePath(toXmlKey(options.offers)).steps
  const pathsByName = groupPaths(options.keys)
  let fields: PathFields = new Map()
  let offers: PathFields[] | undefined = offerSteps === undefined ? undefined : []
  let openOffer: PathFields | undefined
  let elements: Element[] = []
  let captures: Capture[] = []
  const parentPaths = pathsByName.get(PARENT) ?? []

  const add = (key: string, text: string): void => {
    const target = openOffer ?? fields
    const values = target.get(key) ?? []
    if (text !== '' && values.length < MAX_VALUES) target.set(key, [...values, text])
  }
  const isOffer = (): boolean => offerSteps !== undefined && isMatch(offerSteps, elements)
  const startOffer = (): void => {
    openOffer = new Map()
    // One above the limit, so that the excess is reported.
    if (offers !== undefined && offers.length <= MAX_READ_OFFERS) offers.push(openOffer)
  }
  const markNested = (tag: SaxesTagNS): void => {
    for (const capture of captures) {
      capture.isNested = true
      if (isBlockTag(tag.local)) append(capture, ' ')
    }
  }
  const openElement = (tag: SaxesTagNS, level: number): void => {
    markNested(tag)
    const element = toElement(tag)
    if (level > 0) elements.push(element)
    if (isOffer()) startOffer()
    const paths = pathsByName.get(level === 0 ? '' : element.name) ?? []
    for (const path of paths.filter(({ steps }) => isMatch(steps, elements))) {
      if (path.attribute === undefined) captures.push({ level, path, text: '', isNested: false })
      else add(path.key, element.attributes.get(path.attribute)?.trim() ?? '')
    }
  }
  const closeElement = (level: number): void => {
    for (const { path, text, isNested } of captures.filter((capture) => capture.level === level))
      add(path.key, isNested && !options.markupKeys.has(path.key) ? '' : text.trim())
    captures = captures.filter((capture) => capture.level !== level)
    if (isOffer()) openOffer = undefined
    elements.pop()
  }
  return {
    itemName: options.items.map((path) => `<${path}>`).join(' and no '),
    ...createTagChecks(itemPaths.map(toLastName), offerSteps === undefined ? [] : [toLastName(offerSteps)]),
    isItem: (names) => itemPaths.some((steps) => isItemPath(steps, names)),
    begin(parent) {
      if (parentPaths.length === 0) return
      const { attributes } = toElement(parent)
      for (const { key, attribute = '' } of parentPaths) add(key, attributes.get(attribute)?.trim() ?? '')
    },
    open: openElement,
    text(piece) {
      for (const capture of captures) append(capture, piece)
    },
    close: (_tag, level) => closeElement(level),
    finish(row, bytes) {
      const item = toPathRow({ row, bytes, fields, offers })
      fields = new Map()
      offers = offerSteps === undefined ? undefined : []
      openOffer = undefined
      elements = []
      captures = []
      return item
    },
  }
}

function toLastName(steps: readonly Step[]): string {
  return steps.at(-1)?.name ?? ''
}

function groupPaths(keys: readonly string[]): ReadonlyMap<string, readonly XmlPath[]> {
  const groups = new Map<string, XmlPath[]>()
  for (const path of [...new Set(keys)].map(parsePath)) {
    const name = path.steps.at(-1)?.name ?? ''
    groups.set(name, [...(groups.get(name) ?? []), path])
  }
  return groups
}

function append(capture: Capture, piece: string): void {
  capture.text += piece.slice(0, MAX_FIELD_CHARACTERS - capture.text.length)
}

function toElement(tag: SaxesTagNS): Element {
  const attributes = Object.values(tag.attributes).map(({ name, value }): [string, string] => [
    toColumnName(name),
    value,
  ])
  return { name: toElementName(tag.name), attributes: new Map(attributes) }
}

function isMatch(steps: readonly Step[], elements: readonly Element[]): boolean {
  return (
    steps.length === elements.length &&
    steps.every(({ name, attribute, value }, index) => {
      const element = elements[index]
      if (element?.name !== name) return false
      return attribute === undefined || element.attributes.get(attribute)?.trim().toLowerCase() === value
    })
  )
}

/** Whether the open elements end in the path: `products/product` also matches below another root. */
function isItemPath(steps: readonly Step[], names: readonly string[]): boolean {
  const start = names.length - steps.length
  return start >= 0 && steps.every(({ name }, index) => toElementName(names[start + index] ?? '') === name)
}

type PathItem = Readonly<{
  row: number
  bytes: number
  fields: PathFields
  offers: readonly PathFields[] | undefined
}>

function toPathRow({ row, bytes, fields, offers }: PathItem): SourceRow {
  const createRow = (offer: PathFields | undefined): SourceRow => {
    const readAll = (key: string): readonly string[] => offer?.get(key) ?? fields.get(key) ?? []
    const all = offer === undefined ? [...fields] : [...fields, ...offer]
    return {
      row,
      bytes,
      problem: undefined,
      hasLists: false,
      read: (key) => readAll(key)[0] ?? '',
      readAll,
      toRawText: () => toRawXml(Object.fromEntries(all)),
      getContent: () => JSON.stringify([[...fields], (offers ?? []).map((values) => [...values])]),
    }
  }
  return { ...createRow(undefined), offers: offers?.map(createRow) }
}

const GOOGLE_NAMESPACE = /^https?:\/\/base\.google\.com\/c?ns\/\d\.\d\/?$/
const ATOM_NAMESPACE = 'http://www.w3.org/2005/Atom'

/** Characters kept of a field; more than any title with its markup. */
const MAX_FIELD_CHARACTERS: number = 16 * 1024

/** Values kept per field name; more than the pictures of a product. */
export const MAX_VALUES = 200

/** Fields that must not contain elements: `100<i/>5.00 EUR` is not a price. */
const TEXT_ONLY_FIELDS = ['gtin', 'link', 'price', 'sale_price', 'availability', 'currency'] as const

/** Field for links of an Atom entry to something other than a page, such as a PDF. */
const OTHER_LINK_FIELD = 'link of another type'

/** Values by name; `isNested`: one of them contained elements. */
type Fields = Map<string, { values: string[]; isNested: boolean }>

/** `others`: the beginnings of fields that are not read, for rejects. */
type Item = Readonly<{ google: Fields; plain: Fields; others: Map<string, string> }>

const MAX_OTHERS = 20
const MAX_OTHER_CHARACTERS = 100

const createItem = (): Item => ({ google: new Map(), plain: new Map(), others: new Map() })

/**
 * @yields the items of each chunk; memory is bounded by one chunk and one item
 * @throws ImportError when it is not well-formed outside of items, has a document type with declarations, or an item is too long.
 */
export async function* readXmlItems(
  texts: AsyncIterable<string>,
  file: string,
  collector: ItemCollector,
): AsyncGenerator<SourceRow[]> {
  const itemParser = new XmlItemParser(file, collector)
  for await (const text of texts) yield itemParser.parse(text)
  yield itemParser.close()
}

/**
 * Create a collector for RSS items and Atom entries with the elements of Google Merchant, which also reads the paths that a changed
 * map names.
 */
export function createGoogleCollector(options: PathOptions): ItemCollector {
  // After a colon, the name of another namespace.
  const paths = new Set(options.keys.filter((key) => /[/@[:]/.test(key)))
  const names = new Set(options.keys.filter((key) => !paths.has(key)))
  const google = createElementCollector(names, new Set([...paths].map((path) => path.split('/')[0] ?? '')))
  if (paths.size === 0) return google
  const others = createPathCollector({ ...options, keys: [...paths] })
  return {
    ...google,
    begin: (parent) => others.begin?.(parent),
    open(tag, level) {
      google.open(tag, level)
      others.open(tag, level)
    },
    text(piece) {
      google.text(piece)
      others.text(piece)
    },
    close(tag, level) {
      google.close(tag, level)
      others.close(tag, level)
    },
    finish(row, bytes) {
      const [item, found] = [google.finish(row, bytes), others.finish(row, bytes)]
      const choose = (key: string): SourceRow => (paths.has(key) ? found : item)
      return {
        ...item,
        read: (key) => choose(key).read(key),
        readAll: (key) => choose(key).readAll(key),
        getContent: () => [item, found].map((part) => part.getContent().toString()).join('\n'),
      }
    },
  }
}

/**
 * Create a collector for the elements of an item. `names`: of the fields that are read; `containers`: of elements that may contain
 * others, and then are no fields.
 */
function createElementCollector(names: ReadonlySet<string>, containers: ReadonlySet<string>): ItemCollector {
  let item = createItem()
  /** Of the field, `''` outside of one, and whether it is read. */
  let [name, isRead] = ['', false]
  let text = ''
  let isNested = false
  /** Also collects the text of elements inside a field. */
  const append = (piece: string): void => {
    const maxCharacters = isRead ? MAX_FIELD_CHARACTERS : MAX_OTHER_CHARACTERS
    if (text.length < maxCharacters) text += piece.slice(0, maxCharacters - text.length)
  }
  return {
    itemName: '<item> and no <entry>',
    ...createTagChecks(['item', 'entry']),
    isItem: (_names, { local }) => /^(?:item|entry)$/i.test(local),
    open(tag, level) {
      // Only direct children of an item are fields: the price in `g:shipping` is not the item's price.
      isNested = level > 1
      if (isNested) {
        if (isBlockTag(tag.local)) append(' ')
        return
      }
      name = toColumnName(tag.local)
      isRead = names.has(name)
      text = ''
    },
    text(piece) {
      if (name !== '') append(piece)
    },
    close(tag, level) {
      if (level !== 1) return
      const isContainer = isNested && containers.has(name)
      if (isRead && !isContainer) addField(item, tag, { name, text: text.trim(), isNested })
      else if (text !== '' && item.others.size < MAX_OTHERS) item.others.set(name, text.trim())
      name = ''
      isNested = false
      text = ''
    },
    finish(row, bytes) {
      const source = toSourceRow(item, row, bytes)
      item = createItem()
      return source
    },
  }
}

function findFields({ google, plain }: Item, tag: SaxesTagNS): Fields | undefined {
  if (GOOGLE_NAMESPACE.test(tag.uri)) return google
  return tag.uri === '' || tag.uri === ATOM_NAMESPACE || tag.prefix === '' ? plain : undefined
}

function addField(
  item: Item,
  tag: SaxesTagNS,
  { name: ownName, text, isNested }: Readonly<{ name: string; text: string; isNested: boolean }>,
): void {
  const fields = findFields(item, tag)
  const link = findAtomLink(tag, text)
  const { name, value } = link ?? { name: ownName, value: text }
  if (fields === undefined || value === '') return
  const field = fields.get(name) ?? { values: [], isNested: false }
  field.isNested ||= isNested && link === undefined
  if (field.values.length < MAX_VALUES) field.values.push(value)
  fields.set(name, field)
}

/**
 * Find an entry's page (RFC 4287, 4.2.7): `rel` is `alternate` or absent. Other types, such as PDF, are the second choice. Some feeds
 * have it as text.
 */
function findAtomLink(tag: SaxesTagNS, text: string): { name: string; value: string } | undefined {
  const isAtom = tag.uri === ATOM_NAMESPACE || (tag.uri === '' && tag.attributes['href'] !== undefined)
  if (!isAtom || tag.local !== 'link') return undefined
  const read = (name: string): string => tag.attributes[name]?.value.trim() ?? ''
  const isAlternate = tag.attributes['rel'] === undefined || read('rel') === 'alternate'
  const isPage = /^(?:$|text\/html|application\/xhtml\+xml)/i.test(read('type'))
  return {
    name: isPage ? 'link' : OTHER_LINK_FIELD,
    value: isAlternate ? read('href') || text : '',
  }
}

function toSourceRow({ google, plain, others }: Item, row: number, bytes: number): SourceRow {
  const otherLinks = plain.get(OTHER_LINK_FIELD)
  if (otherLinks !== undefined && !plain.has('link')) plain.set('link', otherLinks)
  plain.delete(OTHER_LINK_FIELD)
  const findField = (name: string): ReturnType<Fields['get']> => google.get(name) ?? plain.get(name)
  const nestedField = TEXT_ONLY_FIELDS.find((name) => findField(name)?.isNested)
  return {
    row,
    bytes,
    problem:
      nestedField === undefined
        ? undefined
        : { field: nestedField, reason: 'contains elements where only text is allowed' },
    hasLists: false,
    read: (name) => findField(name)?.values[0] ?? '',
    readAll: (name) => findField(name)?.values ?? [],
    toRawText: () => {
      const read = [...plain, ...google].map(([name, { values }]) => [name, values] as const)
      return toRawXml(Object.fromEntries([...others, ...read]))
    },
    getContent: () => `${toContent(google)}\n${toContent(plain)}`,
  }
}

/** Separated by characters that XML cannot contain. */
function toContent(fields: Fields): string {
  let content = ''
  for (const [name, { values, isNested }] of fields)
    content += `${name}\u0001${isNested}\u0001${values.join('\u0001')}\u0002`
  return content
}
