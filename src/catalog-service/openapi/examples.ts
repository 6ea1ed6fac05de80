import type { WireChannel, WireOffer, WireProduct, WireProductPage } from '../../catalog/contract.ts'
import { makeCursor } from '../requests.ts'

/** Everything here is invented; the GTINs are of GS1's range for examples. */

const channel: WireChannel = {
  id: '952a0000-0000-4000-8000-000000000001',
  name: 'Bench & Bean',
  kind: 'website',
  url: 'https://bench-and-bean.example',
}

const offer: WireOffer = {
  merchant: { name: 'Kopje' },
  network: 'brightlink',
  price: '49.90',
  old_price: '64.90',
  currency: 'EUR',
  availability: 'in_stock',
  affiliate_url: 'https://links.example/c?publisher=bench-and-bean&to=https%3A%2F%2Fkopje.example%2Fgrinder',
}

const product: WireProduct = {
  gtin: '09520001001024',
  title: 'Hand grinder with steel burrs',
  brand: 'Molenaar',
  images: [{ url: 'https://pictures.example/grinder.jpg' }],
  offers: [
    offer,
    {
      merchant: { name: 'Maison Brun' },
      network: 'linkgarden',
      price: '52.00',
      currency: 'EUR',
      availability: 'out_of_stock',
      affiliate_url: 'https://go.example/m/117?p=bench-and-bean',
    },
  ],
}

const productPage: WireProductPage = { items: [product], next_cursor: makeCursor(product.gtin) }

/** An answer of each schema in `ANSWERS`, by its name. */
export const EXAMPLES = {
  Channel: channel,
  ChannelList: { items: [channel] },
  Product: product,
  ProductPage: productPage,
  Offer: offer,
  Merchant: offer.merchant,
  Image: { url: 'https://pictures.example/grinder.jpg' },
  Error: { error: 'no shop that the channel is approved for sells it' },
} as const
