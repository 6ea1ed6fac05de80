import type { FeedMap, Preset } from './column-map.ts'

/**
 * An Awin CSV: a publisher's export or an advertiser's upload. `rrp_price` (a recommended, not a former price) and `base_price` (a
 * price per unit) are ignored.
 */
const AWIN_FIELDS = {
  gtin: ['product_gtin', 'gtin', 'ean', 'upc', 'isbn'],
  title: 'product_name',
  brand: ['brand_name', 'brand'],
  price: ['search_price', 'price', 'store_price'],
  oldPrice: 'product_price_old',
  currency: 'currency',
  trackingLink: 'aw_deep_link',
  pageLink: ['merchant_deep_link', 'deep_link', 'product_url'],
  image: ['merchant_image_url', 'aw_image_url', 'large_image', 'image_url'],
  moreImages: ['alternate_image', 'alternate_image_two', 'alternate_image_three', 'alternate_image_four'],
  merchant: 'merchant_name',
  merchantReference: 'merchant_id',
  condition: 'condition',
  forSale: 'is_for_sale',
  network: { value: 'awin' },
} as const satisfies FeedMap['fields']

/** Source: "Get Enhanced Feed (Google Format)" and "Enhanced Feeds Publisher Column Descriptions", Awin (help.awin.com). */
const AWIN_JSON_FIELDS = {
  gtin: ['product_identifiers.gtin', 'gtin', 'product_gtin', 'ean'],
  title: ['product_basic.title', 'title', 'product_name'],
  brand: ['product_identifiers.brand', 'brand'],
  price: ['price_and_availability.price', 'price'],
  salePrice: ['price_and_availability.sale_price', 'sale_price'],
  saleDates: ['price_and_availability.sale_price_effective_date', 'sale_price_effective_date'],
  currency: 'currency',
  availability: ['price_and_availability.availability', 'availability'],
  trackingLink: ['product_basic.aw_deep_link', 'aw_deep_link'],
  pageLink: ['product_basic.link', 'link'],
  image: ['product_basic.image_link', 'image_link'],
  moreImages: ['product_basic.additional_image_link', 'additional_image_link'],
  merchant: ['meta.advertiser_name', 'advertiser_name', 'merchant_name'],
  merchantReference: ['meta.advertiser_id', 'advertiser_id', 'merchant_id'],
  condition: ['product_detailed.condition', 'condition'],
  network: { value: 'awin' },
} as const satisfies FeedMap['fields']

/** Source: document type `cafProductFeed` (datafeed.1.5.dtd), Awin. One file may have the products of several shops. */
const AWIN_XML_FIELDS = {
  gtin: ['productGTIN', 'ean', 'upc', 'isbn'],
  title: 'text/name',
  brand: 'brand/brandName',
  price: ['price/buynow', 'price/store'],
  oldPrice: ['price/productPriceOld', 'price/product_price_old'],
  currency: ['price/@curr', 'price/@currency'],
  availability: ['@in_stock', 'stockStatus'],
  trackingLink: 'uri/awTrack',
  pageLink: 'uri/mLink',
  image: ['uri/mImage', 'uri/largeImage', 'uri/awImage'],
  moreImages: 'uri/alternateImage',
  merchant: '../@merchantName',
  merchantReference: '../@merchantId',
  condition: 'cond',
  forSale: '@is_for_sale',
  network: { value: 'awin' },
} as const satisfies FeedMap['fields']

export const AWIN_PRESETS = {
  'awin-csv': [{ format: 'table', fields: AWIN_FIELDS }],
  'awin-json': [{ format: 'json', fields: AWIN_JSON_FIELDS }],
  'awin-xml': [{ format: 'xml', items: 'prod', fields: AWIN_XML_FIELDS }],
} as const satisfies Readonly<Record<string, readonly Preset[]>>
