import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RequestListener } from 'node:http'
import type { WireProduct } from '../../src/catalog/contract.ts'
import { DAY_MS, HOUR_MS } from '../../src/clock.ts'
import { listenHttp } from '../../src/http/server.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import { type Harness, type HarnessOptions, NOON_MS, createHarness } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import type { RecordedServer } from './recorder.ts'

/** A channel without a website. */
export const NEWSLETTER_ID = '3f2b8c1e-6a54-4d0b-9c7e-000000000002'
export const UNKNOWN_ID = '3f2b8c1e-6a54-4d0b-9c7e-000000000009'

export const [LAMP, KETTLE, CHAIR, SOLD_OUT, NO_OFFER, TITLES, MALFORMED, UNKNOWN] = [
  1, 2, 3, 4, 5, 6, 7, 99,
].map(toGtin) as [string, string, string, string, string, string, string, string]

const NAMES = {
  [CHANNEL_ID]: 'channel',
  [NEWSLETTER_ID]: 'newsletter',
  [UNKNOWN_ID]: 'unknown channel',
  [LAMP]: 'lamp',
  [KETTLE]: 'kettle',
  [CHAIR]: 'chair',
  [SOLD_OUT]: 'sold out',
  [NO_OFFER]: 'no offer',
  [TITLES]: 'titles',
  [MALFORMED]: 'malformed',
  [UNKNOWN]: 'unknown',
}

/** Long enough for a box with a history. */
const OBSERVED_DAYS = 31
/** The time of all requests. */
const REQUESTS_AT_MS = NOON_MS + OBSERVED_DAYS * DAY_MS

type Offer = WireProduct['offers'][number]

const toTime = (ms: number): string => new Date(ms).toISOString()

const makeOffer = (merchant: string, price: string, over: Partial<Offer> = {}): Offer =>
  makeWireOffer({
    merchant: { name: merchant },
    price,
    affiliate_url: `https://links.example/c?shop=${encodeURIComponent(merchant)}&ref=1`,
    ...over,
  })

const LAMP_OFFERS = [
  makeOffer('Kopje', '49.90', { old_price: '99.80', sale_ends_at: toTime(REQUESTS_AT_MS + 30 * DAY_MS) }),
  makeOffer('Brava', '47.50', { network: 'Alpha', checked_at: toTime(REQUESTS_AT_MS - 2 * HOUR_MS) }),
  makeOffer('Quillhaven', '52.00', { network: 'other', availability: 'out_of_stock' }),
  makeOffer('Zaal', '1049.5', { availability: 'preorder' }),
  makeOffer('Ost & West', '47.50', { availability: 'unknown' }),
  makeOffer('Kiln "One"', '60', { old_price: '61' }),
  makeOffer('Dollar Store', '51.25', { currency: 'USD', old_price: '80' }),
]

const PICTURE_ORIGIN = 'https://pictures.example'

const toPictures = (...names: readonly string[]): WireProduct['images'] =>
  names.map((name) => ({ url: `${PICTURE_ORIGIN}/${name}` }))

const PRODUCTS: readonly WireProduct[] = [
  makeWireProduct({ gtin: LAMP, images: toPictures('lamp.jpg'), offers: LAMP_OFFERS }),
  { gtin: KETTLE, title: 'Kettle 1.7 l', images: [], offers: [makeOffer('Kopje', '29.00')] },
  makeWireProduct({
    gtin: CHAIR,
    title: 'Chair',
    brand: 'Möbel',
    images: toPictures('chair-1.jpg', 'chair-2.png', 'chair-3.webp'),
    offers: [
      makeOffer('Brava', '1299', { currency: 'SEK', old_price: '1599', network: 'Alpha' }),
      makeOffer('Kopje', '120.00', { currency: 'USD' }),
      makeOffer('Zaal', '12000', { currency: 'JPY' }),
    ],
  }),
  makeWireProduct({
    gtin: SOLD_OUT,
    title: 'Sold-out radio',
    offers: ['Kopje', 'Brava'].map((name) => makeOffer(name, '19.99', { availability: 'out_of_stock' })),
  }),
  makeWireProduct({ gtin: NO_OFFER, title: 'Nobody sells it', offers: [] }),
  makeWireProduct({
    gtin: TITLES,
    title: 'Tea </script><b>"black" & green\u202e 茶',
    brand: "O'Neil & <i>",
    offers: [makeOffer('<b>Shop</b>', '5.5', { currency: 'GBP', old_price: '11' }), makeOffer('Kopje', '6')],
  }),
]

/** Sixteen deals: brands, discounts, shops and networks repeat with different periods. */
const makeDeals = (day: number): readonly WireProduct[] =>
  Array.from({ length: 16 }, (_, index) =>
    makeWireProduct({
      gtin: toGtin(20 + index),
      title: `${['Desk', 'Floor', 'Wall'][index % 3]} lamp ${index}`,
      brand: ['Lumen', 'Nordlys', 'Äther', 'Lumvik'][index % 4] ?? '',
      images: index % 5 === 0 ? [] : toPictures(`deal-${index}.jpg`),
      offers: [
        makeOffer(
          ['Kopje', 'Brava', 'Zaal'][index % 3] ?? '',
          (20 + index * 7.25 - (day > 28 ? index : 0)).toFixed(2),
          {
            old_price: (30 + index * 9).toFixed(2),
            network: ['brightlink', 'Alpha', 'other'][index % 3] ?? '',
            currency: index % 8 === 7 ? 'USD' : 'EUR',
            availability: index % 6 === 5 ? 'out_of_stock' : 'in_stock',
          },
        ),
      ],
    }),
  )

/** The catalog of a day. The price of the lamp falls twice. */
function makeProducts(day: number): WireProduct[] {
  const lampPrice = day < 12 ? '59.90' : day < 25 ? '54.00' : '49.90'
  const [lamp, ...others] = PRODUCTS
  const offers = [{ ...LAMP_OFFERS[0], price: lampPrice }, ...LAMP_OFFERS.slice(1)] as Offer[]
  const malformed = { gtin: MALFORMED, images: [], offers: [] } as unknown as WireProduct
  return [{ ...(lamp as WireProduct), offers }, ...others, malformed, ...makeDeals(day)]
}

const SHOPS = {
  Kopje: { name: 'Kopje & Co', aliases: ['kopje.example'], logo: 'kopje.svg', terms: 'Free delivery' },
}
const LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
const SUB_IDS = {
  brightlink: { aliases: ['Alpha'], hosts: ['links.example'], maxCharacters: 20, parameter: 'sub' },
}

/** Write the files of shops and of sub-ids; return their settings. */
export function writeSettingsFiles(): Readonly<Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-recording-'))
  addCleanup(() => rmSync(folder, { recursive: true, force: true }))
  const write = (name: string, value: unknown): string => {
    writeFileSync(join(folder, name), typeof value === 'string' ? value : JSON.stringify(value))
    return join(folder, name)
  }
  write('kopje.svg', LOGO)
  return {
    VITRINE_SHOPS_FILE: write('shops.json', SHOPS),
    VITRINE_SUB_IDS_FILE: write('sub-ids.json', SUB_IDS),
  }
}

/** Everything open: newsletters, JSON, and the studio with a password. */
export const OPEN_SETTINGS = {
  VITRINE_ADMIN_PASSWORD: 'studio-password',
  VITRINE_JSON: 'on',
  VITRINE_MAIL_NETWORKS: 'brightlink, Alpha',
}

/** `days`: walks before the requests, one a day; 0: no copy. `pictureOrigin`: host of the pictures. */
export type SampleOptions = HarnessOptions & Readonly<{ days?: number; pictureOrigin?: string }>

/** Start a widget server with the sample catalog; it is closed after the test. */
export async function startSample({
  days = 1,
  pictureOrigin = PICTURE_ORIGIN,
  ...options
}: SampleOptions = {}): Promise<RecordedServer & Readonly<{ harness: Harness }>> {
  const harness = await createHarness(options)
  addCleanup(() => harness.dispose())
  const { catalog, clock, context } = harness
  catalog.channels.push({ id: NEWSLETTER_ID, name: 'Weekly "letter"', kind: 'newsletter', url: null })
  catalog.products.set(NEWSLETTER_ID, makeProducts(OBSERVED_DAYS).slice(0, 3))
  catalog.products.set(CHANNEL_ID, makeProducts(OBSERVED_DAYS))
  clock.step((OBSERVED_DAYS - days) * DAY_MS)
  for (let day = OBSERVED_DAYS - days + 1; day <= OBSERVED_DAYS; day += 1) {
    clock.advance(DAY_MS)
    const products = JSON.stringify(makeProducts(day)).replaceAll(PICTURE_ORIGIN, pictureOrigin)
    catalog.products.set(CHANNEL_ID, JSON.parse(products) as WireProduct[])
    await context.walks.runNow()
  }
  return { harness, url: await listenOn(harness), names: NAMES }
}

/** Serve the app as `vitrine serve` does. */
export async function listenOn(harness: Harness, app: RequestListener = harness.app): Promise<string> {
  const server = await listenHttp('127.0.0.1', 0, harness.clock)
  server.setHandler(app)
  addCleanup(() => server.stop())
  return `http://127.0.0.1:${server.port}`
}
