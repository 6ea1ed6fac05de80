import type { Preset } from './column-map.ts'

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
