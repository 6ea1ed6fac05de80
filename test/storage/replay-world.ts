import { IS_FULL } from '../helpers/property-runs.ts'
import type { Offer, Product } from '../../src/catalog/contract.ts'
import { DAY_MS, HOUR_MS } from '../../src/clock.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'

export const DAYS = 120
export const PRODUCTS: number = IS_FULL ? 2_000 : 400
export const DAY_0: number = Date.UTC(2020, 0, 1) / DAY_MS

/** Products whose prices follow a script. */
export const COURT_CASE = 0
export const UP_AND_DOWN = 1
export const UNSEEN_FLASH = 2
export const SEEN_FLASH = 3
const SCRIPTED = 4

/** Prices of scripted products in cents, each from a day on. */
const SCRIPTS: readonly (readonly (readonly [day: number, cents: number])[])[] = [
  // CJEU C-330/23: the price announced as reduced was already charged within the 30 days before.
  [
    [0, 169],
    [80, 129],
    [93, 169],
    [105, 129],
  ],
  [
    [0, 8_000],
    [64, 10_000],
    [75, 9_000],
  ],
  [[0, 5_000]],
  [[0, 5_000]],
]

/** Each shop sells one of so many products. */
const SHOPS: Readonly<Record<string, number>> = { Alpha: 1, Beta: 2, Feed: 3, Zaal: 5 }
/** Days on which a shop sells nothing. */
const CLOSED: Readonly<Record<string, readonly (readonly [number, number])[]>> = {
  Zaal: [
    [30, 33],
    [70, 80],
  ],
}
/** Days on which the shop's feed is not fetched: its prices become too old. */
const STALE: readonly [number, number] = [50, 58]

type ShopOffer = { shop: string; currency: string; cents: number; claimCents: number | null }
type WorldProduct = { index: number; isGone: boolean; offers: ShopOffer[] }

/** What the catalog returns for a product at a time, and the prices of it that are not too old. */
export type Sight = Readonly<{ product: Product | null; prices: ReadonlyMap<string, number> }>

/** A catalog whose prices change at random, the same way in each run. */
export type World = Readonly<{
  /** Let time pass: change some prices, and let products and shops leave and return. */
  advance(timeMs: number): void
  see(index: number, timeMs: number): Sight
  /** Return a random integer below `limit`. */
  draw(limit: number): number
}>

export function createWorld(): World {
  let state = 123_456_789
  const draw = (limit: number): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % limit
  }
  const products = Array.from({ length: PRODUCTS }, (_, index) => makeWorldProduct(index))
  const changePrice = (offer: ShopOffer): void => {
    offer.cents = 2_000 + 50 * draw(100)
  }
  return {
    draw,
    advance() {
      for (let count = 0; count < PRODUCTS / 60; count += 1) {
        const product = products[SCRIPTED + draw(PRODUCTS - SCRIPTED)]
        const offer = product?.offers[draw(product.offers.length)]
        if (offer !== undefined) changePrice(offer)
      }
      for (let count = 0; count < 3; count += 1) {
        const product = products[SCRIPTED + draw(PRODUCTS - SCRIPTED)]
        if (product !== undefined) product.isGone = !product.isGone
      }
    },
    see(index, timeMs) {
      const product = products[index]
      if (product === undefined || product.isGone) return { product: null, prices: new Map() }
      return toSight(product, timeMs)
    },
  }
}

function makeWorldProduct(index: number): WorldProduct {
  const make = (shop: string, currency = 'EUR'): ShopOffer => ({
    shop,
    currency,
    cents: 3_000 + 50 * ((index * 7 + shop.length) % 60),
    claimCents: (index + shop.length) % 3 === 0 ? null : 7_500 + (index % 9) * 100,
  })
  if (index < SCRIPTED) return { index, isGone: false, offers: [{ ...make('Alpha'), claimCents: 12_000 }] }
  const offers = Object.entries(SHOPS).flatMap(([shop, step]) => (index % step === 0 ? make(shop) : []))
  return { index, isGone: false, offers: index % 20 === 0 ? [...offers, make('Zaal', 'USD')] : offers }
}

function toSight({ index, offers }: WorldProduct, timeMs: number): Sight {
  const day = timeMs / DAY_MS - DAY_0
  const prices = new Map<string, number>()
  const shown = offers.filter(({ shop }) => !isWithin(day, CLOSED[shop] ?? []))
  const parsed = shown.map((offer): Offer => {
    const cents = index < SCRIPTED ? findScripted(index, day) : offer.cents
    const checkedAtMs = offer.shop === 'Feed' ? findCheck(day) : null
    if (checkedAtMs === null || timeMs - checkedAtMs <= DAY_MS)
      prices.set(`${offer.currency} ${offer.shop.toLowerCase()}`, cents)
    return makeParsedOffer({
      merchant: offer.shop,
      currency: offer.currency,
      price: (cents / 100).toFixed(2),
      oldPrice: offer.claimCents === null ? null : (offer.claimCents / 100).toFixed(2),
      checkedAtMs,
    })
  })
  if (parsed.length === 0) return { product: null, prices }
  return { product: makeProduct({ gtin: toGtin(index), title: `Lamp ${index}`, offers: parsed }), prices }
}

const isWithin = (day: number, periods: readonly (readonly [number, number])[]): boolean =>
  periods.some(([from, until]) => day >= from && day < until)

/** The feed is fetched at six each day. */
function findCheck(day: number): number {
  const today = Math.floor(day - 0.25)
  const checkedDay = isWithin(today, [STALE]) ? STALE[0] - 1 : today
  return (DAY_0 + checkedDay) * DAY_MS + 6 * HOUR_MS
}

/** A price of a tenth begins then and lasts an hour. Walks see only one of the two. */
const FLASHES: Readonly<Record<number, number>> = {
  [UNSEEN_FLASH]: 100 + 14.2 / 24,
  [SEEN_FLASH]: 100 + 12.2 / 24,
}

function findScripted(index: number, day: number): number {
  const flash = FLASHES[index]
  if (flash !== undefined && day >= flash && day < flash + 1 / 24) return 500
  return SCRIPTS[index]?.findLast(([from]) => day >= from)?.[1] ?? 0
}
