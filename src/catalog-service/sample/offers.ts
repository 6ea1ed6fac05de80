import { SHOWCASE_OFFERS } from './showcase-offers.ts'
import { EVERYWHERE_GTIN, SAMPLE_PRODUCTS, SHOWCASE_GTIN } from './products/all.ts'
import type { SampleProduct } from './products/product.ts'
import {
  SAMPLE_RATES,
  SAMPLE_SHOPS,
  type SampleCurrency,
  type SampleNetworkName,
  type SampleShop,
} from './shops.ts'

/** An offer of the sample. Prices are in hundredths of the currency. */
export type SampleOffer = Readonly<{
  product: SampleProduct
  shop: SampleShop
  network: SampleNetworkName
  currency: SampleCurrency
  priceCents: number
  /** `null` when the shop names no former price. */
  oldPriceCents: number | null
  availability: string
}>

/** Discounts in percent; some stand several times, so that a grid has ties to break. */
const DISCOUNTS = [20, 3, 10, 25, 20, 5, 33, 15, 60, 20, 12, 40, 10, 8, 50, 25, 30] as const

/** Words for availability besides `in_stock`; the contract leaves them open. */
const RARE_AVAILABILITY = [
  'out_of_stock',
  'backorder',
  'out_of_stock',
  'preorder',
  'ships_in_5_days',
] as const

/** A prime: remainders by it look irregular, and are the same at each start. */
const SCATTER = 1_009

let made: readonly SampleOffer[] | undefined

/** Every offer of the sample; made once, on first use. */
export function getSampleOffers(): readonly SampleOffer[] {
  made ??= SAMPLE_PRODUCTS.flatMap((product, index) => makeOffers(product, index))
  return made
}

/** The shop's own page of a product. A currency that is not its usual one is named. */
export function makePageUrl(offer: Pick<SampleOffer, 'product' | 'shop' | 'currency'>): string {
  const { product, shop, currency } = offer
  const query = currency === shop.currencies[0] ? '' : `?currency=${currency}`
  return `https://${shop.host}/p/${product.gtin}${query}`
}

/** `1290` as `"12.90"`. */
export function formatCents(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
}

function makeOffers(product: SampleProduct, index: number): SampleOffer[] {
  if (product.gtin === SHOWCASE_GTIN) return SHOWCASE_OFFERS.map((offer) => ({ product, ...offer }))
  if (product.gtin === EVERYWHERE_GTIN) return makeEverywhereOffers(product)
  const shopCount = index % 11 === 5 ? 1 : 2 + (scatter(index, 3) % 6)
  return SAMPLE_SHOPS.map((_, turn) => SAMPLE_SHOPS[(index * 3 + turn * 7) % SAMPLE_SHOPS.length])
    .filter((shop) => shop !== undefined)
    .slice(0, shopCount)
    .flatMap((shop, turn) =>
      makeShopOffers(product, shop, { seed: scatter(index, turn), isOnly: shopCount === 1 }),
    )
}

/** The shop's usual offer; from some shops a second one, in another currency or through their second network. */
function makeShopOffers(
  product: SampleProduct,
  shop: SampleShop,
  options: Readonly<{ seed: number; isOnly: boolean }>,
): SampleOffer[] {
  const [network, secondNetwork] = shop.networks
  const [currency, secondCurrency] = shop.currencies
  const usual = makeOffer(product, shop, { network, currency, seed: options.seed })
  if (options.isOnly) return [usual]
  if (secondCurrency !== undefined && options.seed % 3 === 0) {
    return [usual, makeOffer(product, shop, { network, currency: secondCurrency, seed: options.seed })]
  }
  return options.seed % 7 === 1 ? [usual, { ...usual, network: secondNetwork }] : [usual]
}

/** Ten shops, each in three currencies and over both of its networks. */
function makeEverywhereOffers(product: SampleProduct): SampleOffer[] {
  return SAMPLE_SHOPS.flatMap((shop, turn) => {
    const [network, secondNetwork] = shop.networks
    const seed = scatter(turn, 5)
    return [
      makeOffer(product, shop, { network, currency: 'EUR', seed }),
      makeOffer(product, shop, { network, currency: 'USD', seed }),
      makeOffer(product, shop, { network: secondNetwork, currency: 'GBP', seed }),
    ]
  })
}

type OfferSeed = Readonly<{ network: SampleNetworkName; currency: SampleCurrency; seed: number }>

function makeOffer(product: SampleProduct, shop: SampleShop, options: OfferSeed): SampleOffer {
  const { network, currency, seed } = options
  const listCents = roundToShelfPrice(
    (product.priceCents * shop.levelPercent * SAMPLE_RATES[currency]) / 10_000,
  )
  const discount = seed % 5 < 2 ? (DISCOUNTS[seed % DISCOUNTS.length] ?? 0) : 0
  return {
    product,
    shop,
    network,
    currency,
    priceCents: discount === 0 ? listCents : Math.round((listCents * (100 - discount)) / 100),
    oldPriceCents: discount === 0 ? null : listCents,
    availability: seed % 8 === 3 ? (RARE_AVAILABILITY[seed % RARE_AVAILABILITY.length] ?? '') : 'in_stock',
  }
}

/** Prices as shops have them: whole tens above 200, whole ones above 50, below that they end in 90 or 40. */
function roundToShelfPrice(cents: number): number {
  if (cents >= 20_000) return Math.round(cents / 1_000) * 1_000 - 100
  if (cents >= 5_000) return Math.round(cents / 100) * 100
  return Math.max(90, Math.round(cents / 50) * 50 - 10)
}

function scatter(a: number, b: number): number {
  return ((a + 1) * 389 + (b + 1) * 577 + (a + 1) * (b + 1) * 31) % SCATTER
}
