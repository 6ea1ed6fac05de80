import { createRandom } from './statistics.mjs'

/** Products that differ by more than their numbers; a prime, so that no page is like another. */
const SHAPES = 997
/** The first GTIN's digits before its check digit. */
const FIRST_CODE = 400_000_000_000
/** Of so many products one changes with the generation. */
const CHANGED_EVERY = 100
const CHANGED_OFFSET = 7

const GTIN_BLANK = '?gtin?????????'
const NUMBER_BLANK = '?number'

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
const SHOPS = [
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
const TRADES = ['Market', 'Supply', 'Outlet', 'Store']
const NETWORKS = ['awin', 'cj', 'impact', 'rakuten']

/**
 * A catalog of any size as ready bytes: a few hundred shapes are written out once, and a product is a shape with its
 * numbers put in. The same seed gives the same catalog.
 * @param {{ count: number, seed?: number }} wanted
 */
export function createCatalogData({ count, seed = 1 }) {
  const random = createRandom(seed)
  const shapes = Array.from({ length: SHAPES }, () => toShape(makeProduct(random)))

  const write = (target, at, { index, generation }) => {
    const shape = shapes[index % SHAPES]
    shape.bytes.copy(target, at)
    const gtin = toGtin(index)
    const number = String(index).padStart(NUMBER_BLANK.length, '0')
    for (const offset of shape.gtinOffsets) target.latin1Write(gtin, at + offset)
    for (const offset of shape.numberOffsets) target.latin1Write(number, at + offset)
    if (index % CHANGED_EVERY === CHANGED_OFFSET)
      target.latin1Write(String(generation % 10), at + shape.priceEnd)
    return at + shape.bytes.length
  }

  return {
    count,
    /** The place of a GTIN; `undefined` when the catalog has none such. */
    findIndex(gtin) {
      const index = Number(gtin.padStart(14, '0').slice(1, 13)) - FIRST_CODE
      return index >= 0 && index < count && toGtin(index) === gtin.padStart(14, '0') ? index : undefined
    },
    /** One product; another `generation` changes a price of one product in a hundred. */
    toProduct(index, generation = 0) {
      const bytes = Buffer.allocUnsafe(shapes[index % SHAPES].bytes.length)
      write(bytes, 0, { index, generation })
      return bytes
    },
    /** The products from `first` on as a page of a list. */
    toPage({ first, limit, generation = 0 }) {
      const end = Math.min(count, first + limit)
      const tail = `],"next_cursor":${end < count ? `"${end}"` : 'null'}}`
      let length = '{"items":['.length + tail.length + Math.max(0, end - first - 1)
      for (let index = first; index < end; index += 1) length += shapes[index % SHAPES].bytes.length
      const bytes = Buffer.allocUnsafe(length)
      let at = bytes.latin1Write('{"items":[', 0)
      for (let index = first; index < end; index += 1) {
        if (index > first) at += bytes.latin1Write(',', at)
        at = write(bytes, at, { index, generation })
      }
      bytes.latin1Write(tail, at)
      return bytes
    },
    /** How many products another generation changes. */
    changedCount: Math.floor((count - 1 - CHANGED_OFFSET) / CHANGED_EVERY) + 1,
  }
}

/**
 * The GTIN of a place, 14 digits with the right check digit; a later place has the greater one.
 * @param {number} index
 */
export function toGtin(index) {
  const digits = `0${FIRST_CODE + index}`
  let sum = 0
  for (let place = 0; place < 13; place += 1) sum += Number(digits[place]) * (place % 2 === 0 ? 3 : 1)
  return `${digits}${(10 - (sum % 10)) % 10}`
}

/** A product of two to six offers, about 1.2 kB; a third of them is on sale. */
function makeProduct(random) {
  const pick = (words) => words[Math.floor(random() * words.length)]
  const brand = pick(BRANDS)
  const base = 20 + Math.floor(random() * 400)
  const isOnSale = random() < 1 / 3
  const shops = new Set()
  const offerCount = 2 + Math.floor(random() * 5)
  while (shops.size < offerCount) shops.add(`${pick(SHOPS)} ${pick(TRADES)}`)
  const offers = [...shops].map((name, place) => {
    const price = base + Math.floor(random() * 30)
    const isReduced = isOnSale && (place === 0 || random() < 0.3)
    return {
      merchant: { name },
      network: pick(NETWORKS),
      price: `${price}.${Math.floor(random() * 10)}0`,
      ...(isReduced && { old_price: `${Math.ceil(price * (1.1 + random() * 0.4)) + 2}.00` }),
      currency: 'EUR',
      availability: random() < 0.85 ? 'in_stock' : 'out_of_stock',
      affiliate_url: `https://links.example/click?shop=${name.toLowerCase().replace(' ', '-')}&page=https%3A%2F%2Fshop.example%2Fproducts%2F${GTIN_BLANK}`,
    }
  })
  return {
    gtin: GTIN_BLANK,
    title: `${brand} ${pick(KINDS)} ${NUMBER_BLANK}, ${pick(COLOURS)}`,
    brand,
    images: [{ url: `https://pictures.example/${GTIN_BLANK}.jpg` }],
    offers,
  }
}

function toShape(product) {
  const text = JSON.stringify(product)
  return {
    bytes: Buffer.from(text, 'latin1'),
    gtinOffsets: findAll(text, GTIN_BLANK),
    numberOffsets: findAll(text, NUMBER_BLANK),
    // The last digit of the first price.
    priceEnd: text.indexOf('","', text.indexOf('"price":"')) - 1,
  }
}

function findAll(text, part) {
  const offsets = []
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) offsets.push(at)
  return offsets
}
