import type { BoxView, OfferView } from '../../src/widgets/box.ts'
import type { DealView, GridView } from '../../src/widgets/grid.ts'
import type { WrapperView, HeaderView, NoticesView } from '../../src/widgets/view-models.ts'
import type { PicksView } from '../../src/widgets/picks.ts'
import type { HistoryView } from '../../src/widgets/history.ts'

/** The notices in English. */
export const NOTICES: NoticesView = {
  checkedAt: {
    before: 'Prices checked on ',
    iso: '2026-11-21T05:12:00Z',
    time: '21 Nov 2026, 05:12 UTC',
    after: '',
  },
  order: ['In stock first, then by price'],
  shipping: 'Shipping not included',
  formerPrice: null,
  coverage: 'Not all shops are compared',
}

/** Create a header with everything; `changes` replaces properties. */
export function makeHeader(changes: Partial<HeaderView> = {}): HeaderView {
  return {
    head: 'full',
    heading: 'Where to buy',
    disclosure: 'We may earn a commission when you buy through these links.',
    ...changes,
  }
}

/** Create a wrapper in English with the light theme and one style sheet; `changes` replaces properties. */
export function makeWrapper(changes: Partial<WrapperView> = {}): WrapperView {
  return {
    lang: 'en',
    dir: 'ltr',
    theme: 'light',
    styles: ['https://widgets.example/assets/vitrine.00000000.css'],
    isolate: 'none',
    accent: null,
    sub: null,
    ...changes,
  }
}

/** Create an offer in stock without a former price. */
export function makeOffer(changes: Partial<OfferView> = {}): OfferView {
  return {
    id: '0123456789abcdef',
    gtin: '09520001001024',
    countedMerchant: 'Kopje',
    merchant: 'Kopje',
    logo: { url: null, initial: 'K' },
    terms: null,
    href: 'https://shop.example/a?id=1&ref=x',
    price: {
      price: '€12.99',
      digits: null,
      exact: { amount: '12.99', oldAmount: null, currency: 'EUR', evidence: 'shop', discountPercent: 0 },
      priceHint: 'now',
      oldPrice: null,
      oldPriceHint: 'Shop’s former price',
      discount: null,
    },
    seePrice: 'See price at shop',
    availability: { text: 'In stock', kind: 'in' },
    isBest: false,
    linkLabel: 'Buy at Kopje for €12.99',
    linkText: 'To the shop',
    redirectPath: null,
    ...changes,
  }
}

/** The price of an offer on sale. */
export const SALE_PRICE: NonNullable<OfferView['price']> = {
  price: '€12.99',
  digits: null,
  exact: { amount: '12.99', oldAmount: '15.99', currency: 'EUR', evidence: 'shop', discountPercent: 19 },
  priceHint: 'now',
  oldPrice: '€15.99',
  oldPriceHint: 'Shop’s former price',
  discount: '−19%',
}

/** Create a box with one offer. */
export function makeBox(changes: Partial<BoxView> = {}): BoxView {
  return {
    kind: 'where-to-buy',
    wrapper: makeWrapper(),
    layout: 'list',
    label: 'Where to buy Lumen Arc',
    header: makeHeader(),
    gtin: '09520001001024',
    title: 'Lumen Arc',
    standIn: null,
    variants: null,
    brand: 'Lumen',
    picture: { src: 'https://images.example/arc.jpg', srcset: null, sizes: null },
    lowestLabel: 'Lowest listed price',
    hasLogos: false,
    sentence: [
      { text: '€12.99', placeholder: 'price' },
      { text: ' at ', placeholder: null },
      { text: 'Kopje', placeholder: 'merchant' },
    ],
    history: null,
    disclosureMark: 'Ad',
    columns: {
      picture: 'Picture',
      product: 'Product',
      shop: 'Shop',
      availability: 'Availability',
      price: 'Price',
      link: 'Link',
      shops: 'Shops',
    },
    offers: [makeOffer({ isBest: true })],
    more: [],
    moreLabel: '',
    omitted: null,
    notices: NOTICES,
    schema: null,
    ...changes,
  }
}

/** Create observed prices with a chart. */
export function makeHistory(changes: Partial<HistoryView> = {}): HistoryView {
  return {
    sentence: [
      { text: 'Lowest price in ', placeholder: null },
      { text: '30', placeholder: 'days' },
      { text: ' observed days: ', placeholder: null },
      { text: '€9.99', placeholder: 'price' },
      { text: ' on ', placeholder: null },
      { text: 'November 3', placeholder: 'date' },
    ],
    chart: {
      lines: { width: 30, height: 40, path: 'M0 4h12v32h18', lowPath: 'M29.5 36h.01' },
      label: 'Lowest price of each day from October 23 to November 21: between €9.99 and €12.99',
      high: '€12.99',
      low: '€9.99',
      from: 'Oct 23',
      to: 'Nov 21',
    },
    ...changes,
  }
}

/** Create a product on sale. */
export function makeDeal(changes: Partial<DealView> = {}): DealView {
  return {
    id: '0123456789abcdef',
    firstSeen: '2026-11-20T05:12:00.000Z',
    title: 'Lumen Arc',
    brand: 'Lumen',
    picture: { src: 'https://images.example/arc.jpg', srcset: null, sizes: null },
    gtin: '09520001001024',
    countedMerchant: 'Kopje',
    merchant: 'Kopje',
    logo: { url: null, initial: 'K' },
    terms: null,
    merchantParts: [
      { text: 'at\u00A0', placeholder: null },
      { text: 'Kopje', placeholder: 'merchant' },
    ],
    href: 'https://shop.example/a?id=1&ref=x',
    price: SALE_PRICE,
    seePrice: 'See price at shop',
    availability: { text: 'In stock', kind: 'in' },
    linkLabel: 'Buy at Kopje for €12.99',
    redirectPath: null,
    ...changes,
  }
}

/** Create a grid with one card. */
export function makeGrid(changes: Partial<GridView> = {}): GridView {
  return {
    kind: 'deals',
    wrapper: makeWrapper(),
    layout: 'grid',
    label: 'Deals',
    header: makeHeader({ heading: 'Deals' }),
    linkText: 'To the shop',
    deals: [makeDeal()],
    carouselLabels: { previous: 'Previous deals', next: 'More deals' },
    notices: { ...NOTICES, order: ['Largest discount first'] },
    paging: null,
    ...changes,
  }
}

/** Create a round-up with one product that several shops sell. */
export function makePicks(changes: Partial<PicksView> = {}): PicksView {
  return {
    kind: 'picks',
    wrapper: makeWrapper(),
    layout: 'rank',
    label: 'Our picks',
    header: makeHeader({ heading: 'Our picks' }),
    products: [makePick()],
    hasPictures: true,
    hasLogos: false,
    lowestLabel: 'Lowest listed price',
    columns: makeBox().columns,
    notices: NOTICES,
    ...changes,
  }
}

/** Create a product of a round-up. */
export function makePick(
  changes: Partial<PicksView['products'][number]> = {},
): PicksView['products'][number] {
  return {
    number: '1',
    label: 'Best overall',
    title: 'Lumen Arc',
    brand: 'Lumen',
    picture: { src: 'https://images.example/arc.jpg', srcset: null, sizes: null },
    offer: makeOffer({ isBest: true, price: SALE_PRICE }),
    shops: {
      label: '2 shops',
      offers: [
        makeOffer({ price: SALE_PRICE }),
        makeOffer({
          merchant: 'Nordhem',
          price: null,
          terms: 'Free returns',
          availability: { text: 'Out of stock', kind: 'out' },
        }),
      ],
      omitted: null,
    },
    ...changes,
  }
}
