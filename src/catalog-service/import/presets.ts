import type { FeedMap } from './feed-map.ts'

/** Product data specification of Google Merchant Center, as a table. */
const GOOGLE_FIELDS = {
  gtin: 'gtin',
  title: 'title',
  brand: 'brand',
  price: 'price',
  salePrice: 'sale_price',
  saleDates: 'sale_price_effective_date',
  currency: 'currency',
  availability: 'availability',
  pageLink: 'link',
  image: 'image_link',
  moreImages: 'additional_image_link',
  merchant: 'merchant_name',
  condition: 'condition',
} as const satisfies FeedMap['fields']

/** RSS items and Atom entries of Google Merchant Center. */
const GOOGLE_ITEMS = ['item', 'entry'] as const

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

/** Source: "Shopping Feed (Google format)" and "Product Feeds", CJ Affiliate (developers.cj.com). Links are tracking links. */
const CJ_FIELDS = {
  ...GOOGLE_FIELDS,
  gtin: ['gtin', 'upc', 'ean', 'isbn'],
  title: ['title', 'name'],
  brand: ['brand', 'manufacturer'],
  price: ['price', 'retailprice'],
  salePrice: ['sale_price', 'saleprice'],
  availability: ['availability', 'instock'],
  trackingLink: ['link', 'buyurl'],
  pageLink: [],
  image: ['image_link', 'imageurl'],
  merchant: ['program_name', 'programname', 'advertiser_name'],
  network: { value: 'cj' },
} as const satisfies FeedMap['fields']

/** Source: "Catalog Items", impact.com Partner API (integrations.impact.com), and "File Formats for Product Catalogs" (help.impact.com). */
const IMPACT_FIELDS = {
  gtin: ['gtin', 'upc', 'ean', 'isbn'],
  title: ['name', 'product_name'],
  brand: ['manufacturer', 'brand'],
  price: ['currentprice', 'current_price'],
  oldPrice: ['originalprice', 'original_price'],
  currency: 'currency',
  availability: ['stockavailability', 'stock_availability'],
  trackingLink: ['url', 'product_url'],
  image: ['imageurl', 'image_url'],
  moreImages: ['additionalimageurls', 'additional_image_urls'],
  merchant: ['campaignname', 'campaign_name'],
  merchantReference: ['campaignid', 'campaign_id'],
  condition: 'condition',
  network: { value: 'impact' },
} as const satisfies FeedMap['fields']

/** Source: "Product Feeds", Rakuten Advertising (pubhelp.rakutenadvertising.com). Rows may have more columns, by class of product. */
const RAKUTEN_COLUMNS =
  'product_id name sku primary_category secondary_category product_url image_url buy_url short_description long_description discount discount_type sale_price retail_price begin_date end_date brand shipping keywords part_number manufacturer shipping_information availability upc class_id currency'.split(
    ' ',
  )

/** Source: "Product feed specification", Adtraction (adtraction.com). */
const ADTRACTION_FIELDS = {
  gtin: ['ean', 'gtin'],
  title: 'name',
  brand: 'brand',
  price: 'price',
  oldPrice: ['originalprice', 'original_price'],
  currency: 'currency',
  availability: ['instock', 'in_stock'],
  trackingLink: ['trackingurl', 'tracking_url'],
  pageLink: ['producturl', 'product_url'],
  image: ['imageurl', 'image_url'],
  network: { value: 'adtraction' },
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

/** Maps by format, with at most one for a table, JSON and XML each. */
const PRESETS = {
  'google-tsv': [{ format: 'table', delimiter: '\t', fields: GOOGLE_FIELDS }],
  'google-csv': [{ format: 'table', fields: GOOGLE_FIELDS }],
  'google-xml': [{ format: 'xml', items: GOOGLE_ITEMS, fields: GOOGLE_FIELDS }],
  'awin-csv': [{ format: 'table', fields: AWIN_FIELDS }],
  cj: [
    { format: 'table', fields: CJ_FIELDS },
    {
      format: 'xml',
      items: [...GOOGLE_ITEMS, 'product'],
      fields: { ...CJ_FIELDS, trackingLink: ['link', 'link/@href', 'buyurl'] },
    },
  ],
  impact: [
    { format: 'table', fields: IMPACT_FIELDS },
    { format: 'xml', items: ['item', 'product'], fields: IMPACT_FIELDS },
    {
      format: 'json',
      items: 'Items',
      fields: {
        gtin: ['Gtin', 'GTIN', 'Upc', 'UPC', 'Ean', 'EAN'],
        title: 'Name',
        brand: ['Manufacturer', 'Brand'],
        price: 'CurrentPrice',
        oldPrice: 'OriginalPrice',
        currency: 'Currency',
        availability: 'StockAvailability',
        trackingLink: 'Url',
        image: 'ImageUrl',
        moreImages: 'AdditionalImageUrls',
        merchant: 'CampaignName',
        merchantReference: 'CampaignId',
        condition: 'Condition',
        network: { value: 'impact' },
      },
    },
  ],
  rakuten: [
    {
      format: 'table',
      delimiter: '|',
      columns: RAKUTEN_COLUMNS,
      decimal: '.',
      fields: {
        gtin: 'upc',
        title: 'name',
        brand: ['brand', 'manufacturer'],
        price: 'retail_price',
        salePrice: 'sale_price',
        currency: 'currency',
        availability: 'availability',
        trackingLink: 'product_url',
        image: 'image_url',
        network: { value: 'rakuten' },
      },
    },
  ],
  // Source: "Products Open API" for publishers, Tradedoubler (dev.tradedoubler.com). An offer with several prices in its history is
  // rejected, because their order is not specified.
  tradedoubler: [
    {
      format: 'xml',
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
        condition: ['offers/offer/condition', 'fields/field[@name=condition]'],
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
        condition: 'offers.condition',
        network: { value: 'tradedoubler' },
      },
    },
  ],
  adtraction: [
    { format: 'table', fields: ADTRACTION_FIELDS },
    { format: 'xml', items: 'product', fields: ADTRACTION_FIELDS },
  ],
  webgains: [
    { format: 'table', fields: WEBGAINS_FIELDS },
    {
      format: 'xml',
      items: [...GOOGLE_ITEMS, 'product'],
      fields: { ...WEBGAINS_FIELDS, trackingLink: ['deeplink', 'link', 'link/@href'] },
    },
  ],
  // Source: "Product feeds", TradeTracker (tradetracker.com). Feeds do not name the shop.
  tradetracker: [
    {
      format: 'table',
      fields: {
        gtin: ['ean', 'gtin', 'upc'],
        title: ['name', 'product_name'],
        brand: ['brand', 'manufacturer'],
        price: 'price',
        oldPrice: ['fromprice', 'from_price', 'price_old'],
        currency: 'currency',
        availability: ['stock', 'availability'],
        trackingLink: ['producturl', 'product_url', 'url'],
        image: ['imageurl', 'image_url'],
        condition: 'condition',
        network: { value: 'tradetracker' },
      },
    },
    {
      format: 'xml',
      items: 'product',
      fields: {
        gtin: [
          'properties/property[@name=EAN]/value',
          'properties/property[@name=GTIN]/value',
          'properties/property[@name=UPC]/value',
          'EAN',
        ],
        title: 'name',
        brand: ['properties/property[@name=brand]/value', 'brand'],
        price: ['price', 'price/amount'],
        oldPrice: ['properties/property[@name=fromPrice]/value', 'fromPrice'],
        currency: ['price/@currency', 'price/currency', 'currency'],
        availability: [
          'properties/property[@name=stock]/value',
          'properties/property[@name=availability]/value',
          'stock',
        ],
        trackingLink: ['URL', 'productURL'],
        image: ['images/image', 'imageURL'],
        condition: 'properties/property[@name=condition]/value',
        network: { value: 'tradetracker' },
      },
    },
    {
      format: 'json',
      items: 'products',
      fields: {
        gtin: ['properties.EAN', 'properties.ean', 'properties.GTIN', 'EAN'],
        title: 'name',
        brand: ['properties.brand', 'brand'],
        price: ['price.amount', 'price'],
        oldPrice: ['properties.fromPrice', 'fromPrice'],
        currency: ['price.currency', 'currency'],
        availability: ['properties.stock', 'properties.availability', 'stock'],
        trackingLink: ['URL', 'productURL'],
        image: ['images', 'imageURL'],
        condition: 'properties.condition',
        network: { value: 'tradetracker' },
      },
    },
  ],
} as const satisfies Readonly<Record<string, readonly FeedMap[]>>

export type PresetName = keyof typeof PRESETS

export function findPresetMap(name: PresetName, format: FeedMap['format']): FeedMap | undefined {
  const maps: readonly FeedMap[] = PRESETS[name]
  return maps.find((map) => map.format === format)
}

export function listPresetFormats(name: PresetName): readonly FeedMap['format'][] {
  return PRESETS[name].map(({ format }) => format)
}
