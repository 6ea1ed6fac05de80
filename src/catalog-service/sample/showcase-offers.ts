import type { SampleOffer } from './offers.ts'
import { SAMPLE_SHOPS, type SampleShop } from './shops.ts'

type ShowcaseOffer = Omit<SampleOffer, 'product'>

/** The offers of the showcase, chosen by hand: eight shops in euros, three of them on sale, one sold out. */
export const SHOWCASE_OFFERS: readonly ShowcaseOffer[] = [
  makeEuroOffer('Novabrück', [19_900, 24_900]),
  makeEuroOffer('Velofjell', [21_165, 24_900]),
  makeEuroOffer('Tindra Home', [22_410, 24_900]),
  makeEuroOffer('Pfefferkorn & Lind', [22_900, null]),
  makeEuroOffer('Kestrel Row', [23_490, null]),
  makeEuroOffer('Quillhaven', [23_900, null]),
  makeEuroOffer('Hearthline', [24_900, null]),
  { ...makeEuroOffer('Maison Verlay', [18_900, 24_900]), availability: 'out_of_stock' },
  { ...makeEuroOffer('Brightmoor', [19_900, null]), currency: 'GBP' },
  { ...makeEuroOffer('Oakmere Supply', [24_900, 27_900]), currency: 'USD' },
]

function makeEuroOffer(
  name: string,
  [priceCents, oldPriceCents]: readonly [number, number | null],
): ShowcaseOffer {
  const shop = getShop(name)
  return {
    shop,
    network: shop.networks[0],
    currency: 'EUR',
    priceCents,
    oldPriceCents,
    availability: 'in_stock',
  }
}

function getShop(name: string): SampleShop {
  const shop = SAMPLE_SHOPS.find((candidate) => candidate.name === name)
  if (shop === undefined) throw new TypeError(`the sample has no shop ${name}`)
  return shop
}
