import type { Offer, Product } from '../../catalog/contract.ts'

/** When the gallery's prices were checked: fixed, so that a photograph of it is the same tomorrow. */
export const CHECKED_AT_MS: number = Date.UTC(2026, 10, 21, 5, 12)

/** A shop's offer in short: price, former price and what differs from an offer in stock for euros. */
type OfferSketch = Readonly<{
  shop: string
  price: string
  was?: string
  currency?: string
  availability?: string
}>

const SHOPS = [
  'Novabrück',
  'Velofjell',
  'Tindra Home',
  'Pfefferkorn & Lind',
  'Kestrel Row',
  'Quillhaven',
  'Hearthline',
  'Maison Verlay',
  'Oakmere Supply',
  'Brightmoor',
]

const LAMP: Omit<Product, 'offers'> = {
  gtin: '00000000000017',
  title: 'Halden reading lamp, brass and linen',
  brand: 'Halden',
  images: ['square.svg'],
}

/** A shop's name as feeds have them: without a place to break the line. */
const UNBROKEN_SHOP = 'Haushaltsgerätefachhandelsgesellschaft-Nordwestdeutschland-Onlineshop'

/** Two hundred characters, with one word that is longer than a narrow column. */
const LONG_TITLE =
  'Halden Reading Lamp with Adjustable Brass Arm, Hand-Sewn Linen Shade, Dimmable Warm-White Light Source and ' +
  'Donaudampfschifffahrtselektrizitätenhauptbetriebswerk-Edition, 1.8 m Textile Cable, Grey Pair'

/** The product that every where-to-buy case shows, with one case's offers. */
function makeLamp(offers: readonly OfferSketch[], changes: Partial<Omit<Product, 'offers'>> = {}): Product {
  return { ...LAMP, ...changes, offers: offers.map(makeOffer) }
}

function makeOffer({ shop, price, was, currency, availability }: OfferSketch): Offer {
  return {
    merchant: shop,
    network: 'awin',
    price,
    oldPrice: was ?? null,
    currency: currency ?? 'EUR',
    availability: availability ?? 'in_stock',
    affiliateUrl: `https://tracking.example/click?shop=${encodeURIComponent(shop)}&to=https%3A%2F%2Fshop.example%2Flamp`,
  }
}

const USUAL: readonly OfferSketch[] = [
  { shop: 'Novabrück', price: '189.00', was: '249.00' },
  { shop: 'Tindra Home', price: '195.50' },
  { shop: 'Pfefferkorn & Lind', price: '219.90', was: '229.90' },
  { shop: 'Kestrel Row', price: '229.00' },
  { shop: 'Maison Verlay', price: '179.00', was: '249.00', availability: 'out_of_stock' },
  { shop: 'Quillhaven', price: '199.00', availability: 'preorder' },
  { shop: 'Velofjell', price: '249.00', availability: 'ask_us' },
]

/** Where-to-buy products by case. */
export const PRODUCTS = {
  usual: makeLamp(USUAL),
  one: makeLamp([{ shop: 'Kestrel Row', price: '229.00' }]),
  thirty: makeLamp(
    Array.from({ length: 30 }, (_, index) => ({
      shop: `${SHOPS[index % SHOPS.length]}${index < SHOPS.length ? '' : ` ${Math.floor(index / SHOPS.length) + 1}`}`,
      price: `${189 + index * 7}.${index % 2 === 0 ? '00' : '95'}`,
      ...(index % 4 === 0 && { was: '449.00' }),
    })),
  ),
  bare: makeLamp(USUAL, { images: [], brand: null }),
  broken: makeLamp(USUAL, { images: ['broken.svg'] }),
  long: makeLamp(
    [{ shop: UNBROKEN_SHOP, price: '123456789.99', was: '987654321.99' }, ...USUAL.slice(0, 3)],
    { title: LONG_TITLE, brand: 'Haldenhaushaltsgerätemanufaktur Nordwest', images: ['wide.svg'] },
  ),
  currencies: makeLamp([
    ...USUAL.slice(0, 3),
    { shop: 'Brightmoor', price: '165.00', was: '199.00', currency: 'GBP' },
    { shop: 'Kestrel Row', price: '179.00', currency: 'GBP' },
    { shop: 'Oakmere Supply', price: '24900', was: '27900', currency: 'JPY' },
  ]),
  soldOut: makeLamp(USUAL.map((offer) => ({ ...offer, availability: 'out_of_stock' }))),
  arabic: makeLamp(
    [
      { shop: 'متجر النخيل', price: '189.00', was: '249.00' },
      { shop: 'Tindra Home', price: '195.50' },
      { shop: 'بيت الضوء', price: '219.90', availability: 'out_of_stock' },
    ],
    { title: 'مصباح قراءة Halden من النحاس والكتان', images: ['tall.svg'] },
  ),
} as const satisfies Readonly<Record<string, Product>>

/** Title, brand, picture, shop, price and former price of what is on sale. */
const DEALS = [
  ['Halden reading lamp, brass and linen', 'Halden', 'square.svg', 'Novabrück', '149.00', '249.00'],
  ['Kvist garden bench for two', 'Kvist', 'wide.svg', 'Velofjell', '219.00', '339.00'],
  ['Sorrel olive oil, 0.75 l', null, 'tall.svg', 'Pfefferkorn & Lind', '11.90', '16.90'],
  ['Wall shelf', 'Ordning', 'wide.svg', 'Tindra Home', '39.95', '54.95'],
  ['Aurelia pendant lamp with smoked glass and a dimmer', 'Aurelia', 'square.svg', 'Quillhaven', '89', '119'],
  ['Thermos flask', 'Polaris', 'tall.svg', 'Oakmere Supply', '24.50', '29.90'],
] as const

/** What is on sale in a case: a product with one offer for each card. */
function makeDeals(
  count: number,
  change: Readonly<{ product?: Partial<Product>; offer?: Partial<OfferSketch> }> = {},
): readonly Product[] {
  return Array.from({ length: count }, (_, index) => {
    const [title, brand, picture, shop, price, was] = DEALS[index % DEALS.length] ?? DEALS[0]
    const round = Math.floor(index / DEALS.length)
    return {
      gtin: String(index + 1).padStart(14, '0'),
      title: round === 0 ? title : `${title}, no. ${round + 1}`,
      brand,
      images: [picture],
      offers: [makeOffer({ shop, price, was, ...change.offer })],
      ...change.product,
    }
  })
}

/** Products on sale by case, for grids. */
export const ON_SALE = {
  usual: makeDeals(6),
  one: makeDeals(1),
  thirty: makeDeals(30),
  bare: makeDeals(3, { product: { images: [], brand: null } }),
  broken: makeDeals(3, { product: { images: ['broken.svg'] } }),
  long: [
    ...makeDeals(1, {
      product: { title: LONG_TITLE, brand: 'Haldenhaushaltsgerätemanufaktur Nordwest' },
      offer: { shop: UNBROKEN_SHOP, price: '123456789.99', was: '987654321.99' },
    }),
    ...makeDeals(3),
  ],
  currencies: [
    ...makeDeals(2),
    ...makeDeals(3, { offer: { currency: 'GBP' } }),
    ...makeDeals(1, { offer: { currency: 'JPY', price: '24900', was: '27900' } }),
  ],
  soldOut: makeDeals(4, { offer: { availability: 'out_of_stock' } }),
  arabic: [
    ...makeDeals(1, {
      product: { title: 'مصباح قراءة Halden من النحاس والكتان', images: ['tall.svg'] },
      offer: { shop: 'متجر النخيل' },
    }),
    ...makeDeals(4).slice(1),
  ],
} as const satisfies Readonly<Record<keyof typeof PRODUCTS, readonly Product[]>>
