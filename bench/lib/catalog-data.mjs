import { createRandom } from './statistics.mjs'

/** Number of product templates; a prime, so that no two pages are alike. */
const TEMPLATE_COUNT = 997
/** Digits of the first GTIN, without its check digit. */
const FIRST_CODE = 400_000_000_000
/** A new generation changes one product of this many. */
const CHANGED_EVERY = 100
const CHANGED_OFFSET = 7

const GTIN_PLACEHOLDER = '?gtin?????????'
const NUMBER_PLACEHOLDER = '?number'

/** The only channel of the catalog. */
export const CHANNEL = {
  id: '6f1c2a54-0c1d-4f43-9a43-5f6f6d0a7b10',
  name: 'Measured Magazine',
  kind: 'website',
  url: 'https://magazine.example',
}

const BRANDS = [
  'Sonderby',
  'Novalux',
  'Tindra',
  'Kestrel',
  'Velofjell',
  'Aldermoor',
  'Brightwell',
  'Castanea',
]
const KINDS = ['Wireless Headphones', 'Table Lamp', 'Trail Backpack', 'Espresso Machine', 'Road Bike Helmet']
const COLOURS = ['Sand', 'Graphite', 'Moss Green', 'Ivory', 'Deep Blue', 'Copper']
const SHOP_NAMES = [
  'Harbour',
  'Meadow',
  'Corner',
  'Station',
  'Orchard',
  'Lantern',
  'Granite',
  'Willow',
  'Copper',
  'Summit',
]
const SHOP_TYPES = ['Market', 'Supply', 'Outlet', 'Store']
const NETWORKS = ['awin', 'cj', 'impact', 'rakuten']

/**
 * Create a catalog of any size from product templates that are serialized once: a product is a template with its numbers
 * filled in. The same seed gives the same catalog.
 * @param {{ count: number, seed?: number }} options
 */
export function createCatalogData({ count, seed = 1 }) {
  const random = createRandom(seed)
  const templates = Array.from({ length: TEMPLATE_COUNT }, () => toTemplate(createProduct(random)))

  const write = (target, at, { index, generation }) => {
    const template = templates[index % TEMPLATE_COUNT]
    template.bytes.copy(target, at)
    const gtin = toGtin(index)
    const number = String(index).padStart(NUMBER_PLACEHOLDER.length, '0')
    for (const offset of template.gtinOffsets) target.latin1Write(gtin, at + offset)
    for (const offset of template.numberOffsets) target.latin1Write(number, at + offset)
    if (index % CHANGED_EVERY === CHANGED_OFFSET)
      target.latin1Write(String(generation % 10), at + template.priceEnd)
    return at + template.bytes.length
  }

  return {
    count,
    /** Find the index of a GTIN; `undefined` if the catalog does not have it. */
    findIndex(gtin) {
      const index = Number(gtin.padStart(14, '0').slice(1, 13)) - FIRST_CODE
      return index >= 0 && index < count && toGtin(index) === gtin.padStart(14, '0') ? index : undefined
    },
    /** Serialize a product. Another `generation` changes a price of one product in a hundred. */
    toProduct(index, generation = 0) {
      const bytes = Buffer.allocUnsafe(templates[index % TEMPLATE_COUNT].bytes.length)
      write(bytes, 0, { index, generation })
      return bytes
    },
    /** Serialize a page of the product list, from the index `first` on. */
    toPage({ first, limit, generation = 0 }) {
      const end = Math.min(count, first + limit)
      const tail = `],"next_cursor":${end < count ? `"${end}"` : 'null'}}`
      let length = '{"items":['.length + tail.length + Math.max(0, end - first - 1)
      for (let index = first; index < end; index += 1)
        length += templates[index % TEMPLATE_COUNT].bytes.length
      const bytes = Buffer.allocUnsafe(length)
      let at = bytes.latin1Write('{"items":[', 0)
      for (let index = first; index < end; index += 1) {
        if (index > first) at += bytes.latin1Write(',', at)
        at = write(bytes, at, { index, generation })
      }
      bytes.latin1Write(tail, at)
      return bytes
    },
    /** Number of products that a new generation changes. */
    changedCount: Math.floor((count - 1 - CHANGED_OFFSET) / CHANGED_EVERY) + 1,
  }
}

/**
 * Return the GTIN of an index, 14 digits with a valid check digit; GTINs are in the order of the indexes.
 * @param {number} index
 */
export function toGtin(index) {
  const digits = `0${FIRST_CODE + index}`
  let sum = 0
  for (let position = 0; position < 13; position += 1)
    sum += Number(digits[position]) * (position % 2 === 0 ? 3 : 1)
  return `${digits}${(10 - (sum % 10)) % 10}`
}

/** Create a product of about 1.2 kB with two to six offers. A third of the products are on sale. */
function createProduct(random) {
  const pick = (list) => list[Math.floor(random() * list.length)]
  const brand = pick(BRANDS)
  const base = 20 + Math.floor(random() * 400)
  const isOnSale = random() < 1 / 3
  const shops = new Set()
  const offerCount = 2 + Math.floor(random() * 5)
  while (shops.size < offerCount) shops.add(`${pick(SHOP_NAMES)} ${pick(SHOP_TYPES)}`)
  const offers = [...shops].map((name, position) => {
    const price = base + Math.floor(random() * 30)
    const isReduced = isOnSale && (position === 0 || random() < 0.3)
    return {
      merchant: { name },
      network: pick(NETWORKS),
      price: `${price}.${Math.floor(random() * 10)}0`,
      ...(isReduced && { old_price: `${Math.ceil(price * (1.1 + random() * 0.4)) + 2}.00` }),
      currency: 'EUR',
      availability: random() < 0.85 ? 'in_stock' : 'out_of_stock',
      affiliate_url: `https://links.example/click?shop=${name.toLowerCase().replace(' ', '-')}&page=https%3A%2F%2Fshop.example%2Fproducts%2F${GTIN_PLACEHOLDER}`,
    }
  })
  return {
    gtin: GTIN_PLACEHOLDER,
    title: `${brand} ${pick(KINDS)} ${NUMBER_PLACEHOLDER}, ${pick(COLOURS)}`,
    brand,
    images: [{ url: `https://pictures.example/${GTIN_PLACEHOLDER}.jpg` }],
    offers,
  }
}

function toTemplate(product) {
  const text = JSON.stringify(product)
  return {
    bytes: Buffer.from(text, 'latin1'),
    gtinOffsets: findOffsets(text, GTIN_PLACEHOLDER),
    numberOffsets: findOffsets(text, NUMBER_PLACEHOLDER),
    // The last digit of the first price.
    priceEnd: text.indexOf('","', text.indexOf('"price":"')) - 1,
  }
}

function findOffsets(text, part) {
  const offsets = []
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) offsets.push(at)
  return offsets
}
