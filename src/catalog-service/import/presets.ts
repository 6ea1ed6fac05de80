import type { FeedMap, Preset } from './column-map.ts'
import {
  ADTRACTION_PRESETS,
  AWIN_PRESETS,
  IMPACT_PRESETS,
  RAKUTEN_PRESETS,
  TRADEDOUBLER_PRESETS,
  TRADETRACKER_PRESETS,
} from './presets-networks.ts'

/** Product data specification of Google Merchant Center, as a table. */
const GOOGLE_FIELDS = {
  gtin: ['gtin', 'ean', 'eans', 'upc', 'isbn', 'barcode'],
  title: 'title',
  brand: 'brand',
  price: 'price',
  salePrice: 'sale_price',
  saleDates: 'sale_price_effective_date',
  currency: 'currency',
  availability: 'availability',
  pageLink: ['link', 'url'],
  image: 'image_link',
  moreImages: 'additional_image_link',
  merchant: 'merchant_name',
  condition: ['condition', 'item_condition'],
} as const satisfies FeedMap['fields']

/** Fields of Google in JSON: of feeds, and of its APIs, where prices are objects. */
const GOOGLE_JSON_FIELDS = {
  gtin: ['gtin', 'gtins', 'GTIN', 'ean', 'EAN', 'upc', 'UPC', 'barcode', 'isbn'],
  title: ['title', 'name'],
  brand: ['brand'],
  price: ['price', 'price.value', 'price.amount'],
  salePrice: [
    'sale_price',
    'sale_price.value',
    'sale_price.amount',
    'salePrice',
    'salePrice.value',
    'salePrice.amount',
  ],
  saleDates: ['sale_price_effective_date', 'salePriceEffectiveDate'],
  currency: ['currency', 'price.currency'],
  availability: 'availability',
  trackingLink: ['deep_link', 'deeplink', 'tracking_link', 'tracking_url', 'affiliate_link', 'affiliate_url'],
  pageLink: ['link', 'url'],
  image: ['image_link', 'imageLink', 'image_url'],
  moreImages: ['additional_image_link', 'additional_image_links', 'additionalImageLinks'],
  merchant: ['merchant_name', 'seller_name', 'advertiser_name'],
  merchantReference: ['merchant_id', 'advertiser_id'],
  condition: [
    'condition',
    'condition.value',
    'condition.name',
    'Condition',
    'itemCondition',
    'item_condition',
  ],
} as const satisfies FeedMap['fields']

/** RSS items and Atom entries of Google Merchant Center. */
const GOOGLE_ITEMS = ['item', 'entry'] as const

/** Source: "Shopping Feed (Google format)" and "Product Feeds", CJ Affiliate (developers.cj.com). Links are tracking links. */
const CJ_FIELDS = {
  ...GOOGLE_FIELDS,
  gtin: ['gtin', 'upc', 'ean', 'isbn'],
  title: ['title', 'name'],
  brand: ['brand', 'manufacturer', 'manufacturer_name'],
  price: ['price', 'retailprice', 'retail_price'],
  salePrice: ['sale_price', 'saleprice'],
  availability: ['availability', 'instock', 'in_stock'],
  trackingLink: ['link', 'buyurl', 'buy_url'],
  pageLink: [],
  image: ['image_link', 'imageurl', 'image_url'],
  merchant: ['program_name', 'programname', 'advertiser_name'],
  merchantReference: ['advertiser_id'],
  network: { value: 'cj' },
} as const satisfies FeedMap['fields']

/** Source: "Product Search API" of CJ Affiliate (developers.cj.com), GraphQL. */
const CJ_JSON_FIELDS = {
  gtin: 'gtin',
  title: 'title',
  brand: 'brand',
  price: 'price.amount',
  salePrice: 'salePrice.amount',
  currency: ['price.currency', 'salePrice.currency'],
  availability: 'availability',
  trackingLink: 'linkCode.clickUrl',
  pageLink: 'link',
  image: 'imageLink',
  moreImages: 'additionalImageLink',
  merchant: 'advertiserName',
  merchantReference: 'advertiserId',
  condition: 'condition',
  network: { value: 'cj' },
} as const satisfies FeedMap['fields']

/** Source: "Product Feed Specifications", Webgains Knowledge Hub (knowledgehub.webgains.com), and its earlier XML. */
const WEBGAINS_FIELDS = {
  ...GOOGLE_FIELDS,
  gtin: ['gtin', 'european_article_number', 'ean', 'upc'],
  title: ['title', 'product_name'],
  oldPrice: 'normal_price',
  availability: ['availability', 'in_stock'],
  trackingLink: ['deeplink', 'link'],
  pageLink: [],
  image: ['image_link', 'image_url'],
  merchant: ['merchant_name', 'program_name'],
  merchantReference: ['program_id', 'merchant_id'],
  network: { value: 'webgains' },
} as const satisfies FeedMap['fields']

/** Maps by format. The maps of networks that do not use Google's fields are in presets-networks.ts. */
const PRESETS = {
  'google-tsv': [{ format: 'table', delimiter: '\t', fields: GOOGLE_FIELDS }],
  'google-csv': [{ format: 'table', fields: GOOGLE_FIELDS }],
  'google-xml': [{ format: 'xml', items: GOOGLE_ITEMS, fields: GOOGLE_FIELDS }],
  'google-json': [{ format: 'json', fields: GOOGLE_JSON_FIELDS }],
  ...AWIN_PRESETS,
  cj: [
    { format: 'table', fields: CJ_FIELDS },
    {
      format: 'xml',
      items: [...GOOGLE_ITEMS, 'product'],
      fields: { ...CJ_FIELDS, trackingLink: ['link', 'link/@href', 'buyurl', 'buy_url'] },
    },
    { format: 'json', fields: CJ_JSON_FIELDS },
  ],
  impact: IMPACT_PRESETS,
  rakuten: RAKUTEN_PRESETS,
  tradedoubler: TRADEDOUBLER_PRESETS,
  adtraction: ADTRACTION_PRESETS,
  webgains: [
    { format: 'table', fields: WEBGAINS_FIELDS },
    {
      format: 'xml',
      items: [...GOOGLE_ITEMS, 'product'],
      fields: { ...WEBGAINS_FIELDS, trackingLink: ['deeplink', 'link', 'link/@href'] },
    },
  ],
  tradetracker: TRADETRACKER_PRESETS,
} as const satisfies Readonly<Record<string, readonly Preset[]>>

export type PresetName = keyof typeof PRESETS

/** `layout`: its name, if there are several. */
export type FoundPreset = Readonly<{ map: FeedMap; layout: string | undefined }>

/** Find the map of a format for the content of a file. */
export function findPreset(
  name: PresetName,
  content: FeedMap['format'],
  head: string,
): FoundPreset | undefined {
  const presets: readonly Preset[] = PRESETS[name]
  const found = presets.find(({ format, matchesHead }) => format === content && matchesHead?.(head) !== false)
  if (found === undefined) return undefined
  const { layout, matchesHead: _, ...map } = found
  return { map, layout }
}

export function listPresetFormats(name: PresetName): readonly FeedMap['format'][] {
  const presets: readonly Preset[] = PRESETS[name]
  return [...new Set(presets.map(({ format }) => format))]
}
