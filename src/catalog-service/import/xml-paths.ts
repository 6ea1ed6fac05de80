import type { SaxesTagNS } from 'saxes'
import { MAX_READ_OFFERS } from '../../offers/offer-limits.ts'
import { type SourceRow, toColumnName } from './feed-row.ts'
import { isBlockTag } from './feed-text.ts'
import type { ItemCollector } from './xml-item-parser.ts'
import { createTagChecks, toRawXml } from './xml-syntax.ts'
import { MAX_FIELD_CHARACTERS, MAX_VALUES } from './xml-items.ts'

/** A step of a path: an element, possibly with `[@attribute=value]`. */
type Step = Readonly<{ name: string; attribute: string | undefined; value: string | undefined }>

/** `attribute`: of the last element; `undefined`: its text. */
type XmlPath = Readonly<{ key: string; steps: readonly Step[]; attribute: string | undefined }>

type Fields = Map<string, string[]>

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
  let fields: Fields = new Map()
  let offers: Fields[] | undefined = offerSteps === undefined ? undefined : []
  let openOffer: Fields | undefined
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
  fields: Fields
  offers: readonly Fields[] | undefined
}>

function toPathRow({ row, bytes, fields, offers }: PathItem): SourceRow {
  const createRow = (offer: Fields | undefined): SourceRow => {
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
