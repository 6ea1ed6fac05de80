import { readFileSync } from 'node:fs'
import { GTINS } from '../catalog-service/commands/feed-command.ts'

/** A layout of a network: for each field, the names that are read for it, in order. `items` and `offers`: names of what is repeated. */
type Layout = Readonly<{
  format: string
  content: 'table' | 'xml' | 'json'
  items?: string
  offers?: string
  delimiter?: string
  fields: Readonly<Record<string, readonly string[]>>
}>

/** Tables of Rakuten Advertising have no header. */
const RAKUTEN_COLUMNS =
  'product_id name sku primary_category secondary_category product_url image_url buy_url short_description long_description discount discount_type sale_price retail_price begin_date end_date brand shipping keywords part_number manufacturer shipping_information availability upc class_id currency'

// Written down, not read from the presets: a column that a preset loses must show.
const LAYOUTS = readFileSync(new URL('columns.txt', import.meta.url), 'utf8')
  .split('\n\n')
  .map(parseLayout)

function parseLayout(text: string): Layout {
  const [head = '', ...lines] = text.trimEnd().split('\n')
  const [format = '', content, ...options] = head.split(' ')
  const fields = lines.map((line) => line.trim().split(': '))
  return {
    format,
    content: content as Layout['content'],
    ...Object.fromEntries(options.map((option) => option.split('='))),
    fields: Object.fromEntries(fields.map(([field, names = '']) => [field, names.split(' ')])),
  }
}

const AVAILABILITIES = [
  'in stock',
  'Out of Stock',
  'preorder',
  '12',
  '0',
  'yes',
  'n',
  'ask us',
  'https://schema.org/InStock',
]

/** Values of a row for the name at this place of a list. Every second row is on sale. */
function makeValues(row: number, at: number): Readonly<Record<string, string>> {
  const number = row + 10 * at
  const image = `https://img.example/${number}`
  return {
    gtin: GTINS[number] ?? '',
    title: `Arne ${number} &amp; co`,
    brand: `Sonderby ${number}`,
    price: `${98 + at}.00`,
    ...(row % 2 === 0 ? { salePrice: `${90 - at}.00`, saleDates: '2026-04-01/2026-06-01' } : {}),
    oldPrice: `${120 + at}.00`,
    currency: 'SEK',
    availability: AVAILABILITIES[(row + at) % AVAILABILITIES.length] ?? '',
    trackingLink: `https://track.example/c?p=${number}&u=%2F`,
    pageLink: `https://www.shop.example/p/${number}`,
    image: `${image}.jpg`,
    moreImages: `${image}-b.jpg`,
    merchant: `Kopje ${at}`,
    merchantReference: `7${at}`,
    condition: 'New',
    forSale: '1',
  }
}

type Cells = Map<string, string>

/** A row without the first `row` names of each list, so that the next one is read. */
function makeRow(fields: Layout['fields'], row: number): Cells {
  const cells: Cells = new Map()
  for (const [field, names] of Object.entries(fields))
    for (const [at, name] of names.entries()) {
      const value = makeValues(row, at)[field]
      if (at >= row % names.length && value !== undefined && !cells.has(name)) cells.set(name, value)
    }
  return cells
}

/** For each name of a link to the shop's page, a row without a tracking link. */
function makePageRows(fields: Layout['fields']): readonly Cells[] {
  const { gtin = [], trackingLink = [], pageLink = [] } = fields
  if (trackingLink.length === 0) return []
  return pageLink.map((_, at) => {
    const row = makeRow(fields, at)
    for (const name of trackingLink) row.delete(name)
    return row.set(gtin[0] ?? '', GTINS[100 + at] ?? '')
  })
}

/** For each name of a field, a row that is rejected for its value. */
function makeRejectedRows(fields: Layout['fields'], field: string, value: string): readonly Cells[] {
  const names = fields[field] ?? []
  return names.map((name) => {
    const row = makeRow(fields, 0)
    for (const other of names) row.delete(other)
    return row.set(name, value)
  })
}

function makeRows(fields: Layout['fields']): readonly Cells[] {
  const count = Math.max(...Object.values(fields).map((names) => names.length))
  return [
    ...Array.from({ length: count }, (_, row) => makeRow(fields, row)),
    ...makePageRows(fields),
    ...makeRejectedRows(fields, 'condition', 'used'),
    ...makeRejectedRows(fields, 'forSale', '0'),
  ]
}

function toTable({ format, delimiter = ',' }: Layout, rows: readonly Cells[]): string {
  const isRakuten = format === 'rakuten'
  const header = isRakuten ? RAKUTEN_COLUMNS.split(' ') : [...new Set(rows.flatMap((row) => [...row.keys()]))]
  const sign = delimiter === 'tab' ? '\t' : delimiter
  const lines = rows.map((row) => header.map((name) => row.get(name) ?? '').join(sign))
  if (!isRakuten) return `${[header.join(sign), ...lines].join('\n')}\n`
  return `HDR|77|Kopje|04/30/2026 10:00:00\n${lines.join('\n')}\nTRL|${lines.length}\n`
}

type Element = { attributes: Map<string, string>; children: Map<string, Element>; text: string }

const createElement = (): Element => ({ attributes: new Map(), children: new Map(), text: '' })

const escapeXml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Set `a/b[@name=EAN]/c` or `a/@attribute`. */
function setElement(root: Element, path: string, value: string): void {
  let element = root
  for (const step of path.split('/')) {
    if (step.startsWith('@')) {
      element.attributes.set(step.slice(1), value)
      return
    }
    let child = element.children.get(step)
    if (child === undefined) {
      child = createElement()
      const [, name, attribute] = /\[@(\w+)=([^\]]*)\]/.exec(step) ?? []
      if (name !== undefined) child.attributes.set(name, attribute ?? '')
      element.children.set(step, child)
    }
    element = child
  }
  element.text ||= value
}

function renderElement(step: string, { attributes, children, text }: Element): string {
  const name = step.replace(/\[.*/, '')
  const pairs = [...attributes].map(([key, value]) => ` ${key}="${escapeXml(value)}"`)
  const content = [...children].map(([child, element]) => renderElement(child, element))
  return `<${name}${pairs.join('')}>${escapeXml(text)}${content.join('')}</${name}>`
}

/** A path that begins with `..` is an attribute around the items. */
function toXml({ items = 'item' }: Layout, rows: readonly Cells[]): string {
  const around = createElement()
  const rendered = rows.map((row) => {
    const item = createElement()
    for (const [path, value] of row) {
      if (path.startsWith('../')) setElement(around, path.slice('../'.length), value)
      else setElement(item, path, value)
    }
    return renderElement(items, item)
  })
  const start = renderElement('catalog', around).replace('</catalog>', '')
  return `<?xml version="1.0"?>\n<feed>${start}\n${rendered.join('\n')}\n</catalog></feed>\n`
}

type Json = { [key: string]: Json | Json[] | string }

/** Return the object under a key, or the only one of its list; add it when it is missing. `undefined`: there is a text. */
function openChild(json: Json, name: string, isList: boolean): Json | undefined {
  const found = (json[name] ??= isList ? [{}] : {})
  const child = Array.isArray(found) ? found[0] : found
  return typeof child === 'object' ? child : undefined
}

/** Set `a.b[@name=condition].c`; `list`: the path of an array. A value that is there already stays. */
function setJson(root: Json, path: string, value: string, list: string): void {
  let json: Json | undefined = root
  const steps = path.split('.')
  for (const [at, step] of steps.slice(0, -1).entries()) {
    const [, name = step, key, wanted = ''] = /^(\w+)\[@(\w+)=(\w+)\]$/.exec(step) ?? []
    json = openChild(json, name, key !== undefined || steps.slice(0, at + 1).join('.') === list)
    if (json === undefined) return
    if (key !== undefined) json[key] = wanted
  }
  json[steps.at(-1) ?? ''] ??= value
}

function toJson({ items = '', offers = '' }: Layout, rows: readonly Cells[]): string {
  const products = rows.map((row) => {
    const product: Json = {}
    for (const [path, value] of row) setJson(product, path, value, offers)
    return product
  })
  return JSON.stringify(items === '' ? products : { [items]: products }, null, 1)
}

const WRITERS = { table: toTable, xml: toXml, json: toJson }

/** A feed for each layout of each network, in which every name of every column has a row. */
export const COLUMN_FEEDS: readonly Readonly<{ name: string; format: string; content: string }>[] =
  LAYOUTS.map((layout) => ({
    name: `${layout.format}, ${layout.content}${layout.offers === undefined ? '' : ' with offers'}`,
    format: layout.format,
    content: WRITERS[layout.content](layout, makeRows(layout.fields)),
  }))
