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

/** Source: "Catalog Items", impact.com Partner API (integrations.impact.com), and "File Formats for Product Catalogs" (help.impact.com). */
const IMPACT_FIELDS = {
  gtin: ['gtin', 'upc', 'ean', 'isbn', 'upc_or_ean', 'upc/ean', 'upc/ean/isbn'],
  title: ['name', 'product_name'],
  brand: ['manufacturer', 'brand', 'brand_/_manufacturer', 'brand/manufacturer'],
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

export const IMPACT_PRESETS = [
  { format: 'table', fields: IMPACT_FIELDS },
  {
    format: 'xml',
    items: ['item', 'product'],
    fields: { ...IMPACT_FIELDS, gtin: ['gtin', 'upc', 'ean', 'isbn'], brand: ['manufacturer', 'brand'] },
  },
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
] as const satisfies readonly Preset[]

/** Source: "Product Feeds", Rakuten Advertising (pubhelp.rakutenadvertising.com). Rows may have more columns, by class of product. */
const RAKUTEN_COLUMNS =
  'product_id name sku primary_category secondary_category product_url image_url buy_url short_description long_description discount discount_type sale_price retail_price begin_date end_date brand shipping keywords part_number manufacturer shipping_information availability upc class_id currency'.split(
    ' ',
  )

export const RAKUTEN_PRESETS = [
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
] as const satisfies readonly Preset[]

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
  condition: 'condition',
  network: { value: 'adtraction' },
} as const satisfies FeedMap['fields']

export const ADTRACTION_PRESETS = [
  { format: 'table', fields: ADTRACTION_FIELDS },
  { format: 'xml', items: 'product', fields: ADTRACTION_FIELDS },
] as const satisfies readonly Preset[]

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

/** Source: "Product feeds", TradeTracker (tradetracker.com). Feeds do not name the shop. */
export const TRADETRACKER_PRESETS = [
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
      condition: ['condition', 'conditie'],
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
        'additional/field[@name=EAN]',
        'additional/field[@name=GTIN]',
        'additional/field[@name=UPC]',
        'EAN',
      ],
      title: 'name',
      brand: ['properties/property[@name=brand]/value', 'additional/field[@name=brand]', 'brand'],
      price: ['price', 'price/amount'],
      oldPrice: [
        'properties/property[@name=fromPrice]/value',
        'additional/field[@name=fromPrice]',
        'fromPrice',
      ],
      currency: ['price/@currency', 'price/currency', 'currency'],
      availability: [
        'properties/property[@name=stock]/value',
        'properties/property[@name=availability]/value',
        'additional/field[@name=stock]',
        'stock',
      ],
      trackingLink: ['URL', 'productURL'],
      image: ['images/image', 'imageURL'],
      condition: [
        'properties/property[@name=condition]/value',
        'properties/property[@name=conditie]/value',
        'additional/field[@name=condition]',
        'additional/field[@name=conditie]',
        'condition',
      ],
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
      condition: ['properties.condition', 'properties.Condition', 'properties.conditie', 'condition'],
      network: { value: 'tradetracker' },
    },
  },
] as const satisfies readonly Preset[]
