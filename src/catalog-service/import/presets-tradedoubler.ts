import type { FeedMap, Preset } from './column-map.ts'

/** An earlier layout of Tradedoubler, in which each product is an offer, also as a table. */
const TRADEDOUBLER_FLAT_FIELDS = {
  gtin: ['ean', 'upc', 'isbn'],
  title: 'name',
  brand: ['brand', 'manufacturer'],
  price: 'price',
  oldPrice: 'previousPrice',
  currency: 'currency',
  availability: ['inStock', 'availability'],
  trackingLink: 'productUrl',
  pageLink: 'advertiserProductUrl',
  image: 'imageUrl',
  merchant: 'programName',
  merchantReference: 'programId',
  condition: [
    'condition',
    'fields/field[@name=condition]',
    'fields/field[@name=condition]/@value',
    'fields/condition',
  ],
  network: { value: 'tradedoubler' },
} as const satisfies FeedMap['fields']

function isFlatTradedoubler(head: string): boolean {
  return !/<(?:\w+:)?offers?[\s/>]/i.test(head)
}

/**
 * Source: "Products Open API" for publishers, Tradedoubler (dev.tradedoubler.com). An offer with several prices in its history is
 * rejected, because their order is not specified.
 */
export const TRADEDOUBLER_PRESETS = [
  { format: 'table', fields: TRADEDOUBLER_FLAT_FIELDS },
  {
    format: 'xml',
    layout: 'flat',
    matchesHead: isFlatTradedoubler,
    items: 'product',
    fields: TRADEDOUBLER_FLAT_FIELDS,
  },
  {
    format: 'xml',
    layout: 'offers',
    items: 'product',
    offers: 'offers/offer',
    fields: {
      gtin: [
        'ean',
        'upc',
        'isbn',
        'identifiers/ean',
        'identifiers/upc',
        'fields/field[@name=gtin]',
        'fields/field[@name=gtin]/@value',
        'fields/field[@name=ean]',
        'fields/field[@name=ean]/@value',
      ],
      title: 'name',
      brand: 'brand',
      price: ['offers/offer/priceHistory/price', 'offers/offer/price'],
      currency: [
        'offers/offer/priceHistory/price/@currency',
        'offers/offer/price/@currency',
        'offers/offer/currency',
      ],
      availability: ['offers/offer/availability', 'offers/offer/inStock'],
      trackingLink: 'offers/offer/productUrl',
      pageLink: 'offers/offer/sourceProductUrl',
      image: ['productImage', 'productImage/url'],
      merchant: 'offers/offer/programName',
      merchantReference: 'offers/offer/programId',
      condition: [
        'offers/offer/condition',
        'condition',
        'fields/field[@name=condition]',
        'fields/field[@name=condition]/@value',
        'fields/condition',
      ],
      network: { value: 'tradedoubler' },
    },
  },
  {
    format: 'json',
    items: 'products',
    offers: 'offers',
    fields: {
      gtin: ['ean', 'identifiers.ean', 'upc', 'identifiers.upc', 'isbn', 'identifiers.isbn'],
      title: 'name',
      brand: 'brand',
      price: [
        'offers.priceHistory.price.value',
        'offers.priceHistory.price',
        'offers.price.value',
        'offers.price',
      ],
      currency: [
        'offers.priceHistory.price.currency',
        'offers.priceHistory.currency',
        'offers.price.currency',
        'offers.currency',
      ],
      availability: ['offers.availability', 'offers.inStock'],
      trackingLink: 'offers.productUrl',
      pageLink: 'offers.sourceProductUrl',
      image: ['productImage.url', 'productImage'],
      merchant: 'offers.programName',
      merchantReference: 'offers.programId',
      condition: ['offers.condition', 'condition', 'fields[@name=condition].value'],
      network: { value: 'tradedoubler' },
    },
  },
] as const satisfies readonly Preset[]
