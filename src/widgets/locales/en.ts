import type { Messages } from './messages.ts'

const plurals = new Intl.PluralRules('en')

/** English; also what stands in for every language that is missing. */
export const en: Messages = {
  boxHeading: 'Where to buy',
  nameBox: (title) => `Where to buy ${title}`,
  gridHeading: 'Deals',
  toShop: 'To the shop',
  nameLinkWithPrice: ({ merchant, price }) => `Buy at ${merchant} for ${price}`,
  nameLinkWithoutPrice: (merchant) => `See the price at ${merchant}`,
  seePrice: 'See price at shop',
  priceNow: 'now',
  formerPrice: 'Shop’s former price',
  bestPrice: 'Best price',
  availability: {
    in_stock: 'In stock',
    out_of_stock: 'Out of stock',
    preorder: 'Pre-order',
    backorder: 'On back order',
    discontinued: 'Discontinued',
    other: 'Availability: see shop',
  },
  countMoreShops: ({ count, shown }) =>
    plurals.select(count) === 'one' ? `${shown} more shop` : `${shown} more shops`,
  placeAt: (merchant) => `at ${merchant}`,
  pricesChecked: { before: 'Prices checked on ', after: '.' },
  shippingNotIncluded: 'Shipping not included',
  coverage: 'Not all shops are compared.',
  boxOrder: 'In stock first, then by price',
  gridOrder: {
    discount: 'Largest discount first',
    saving: 'Largest saving first',
    price: 'Lowest price first',
    newest: 'Newest deals first',
  },
  disclosure: 'We may earn a commission when you buy through these links.',
  pages: 'Pages of deals',
  previousPage: 'Previous page',
  nextPage: 'Next page',
}
