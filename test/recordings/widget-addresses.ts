import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import type { RecordedRequest } from './recorder.ts'
import { toRequests } from './request-tables.ts'
import {
  CHAIR,
  KETTLE,
  LAMP,
  MALFORMED,
  NEWSLETTER_ID,
  NO_OFFER,
  SOLD_OUT,
  TITLES,
  UNKNOWN,
  UNKNOWN_ID,
} from './sample.ts'

/** Values by option: a query for each, besides the default. */
type Values = Readonly<Record<string, readonly string[]>>

const COMMON: Values = {
  theme: ['dark', 'light', 'neon'],
  accent: ['ff6600', 'FFF', 'zzz', ''],
  locale: ['de-AT', 'ja', 'ar', 'xx', '-'],
  currency: ['usd', 'GBP', 'EURO'],
  stock: ['in', 'any', 'some'],
  merchant: ['Kopje', 'kopje.example', 'brava&merchant=Zaal', 'nobody', ''],
  exclude: ['Kopje', 'Kopje&exclude=Brava', ''],
  isolate: ['shadow', 'none', 'frame'],
  css: ['none', 'none&isolate=shadow', 'file'],
  head: ['compact', 'none', 'half'],
  heading: ['Our%20%3Cb%3Epick', '', 'x'.repeat(200)],
  sub: ['p123', 'a%20b', '%F0%9F%98%80', 'x'.repeat(100)],
}
const BOX: Values = {
  layout: ['table', 'card', 'button', 'inline', 'round'],
  limit: ['1', '50', '0', '51', '1.5', 'x'],
  history: ['note', 'chart', 'all'],
  else: [KETTLE, 'x', `${UNKNOWN},${CHAIR}`],
  markup: ['schema', 'schema&layout=inline', 'rdfa'],
}
const PICKS: Values = {
  layout: ['table', 'row', 'grid'],
  label: ['Best%20overall', '&label=Best%20value', 'a&label=b&label=c', 'x'.repeat(100)],
}
const DEALS: Values = {
  layout: ['list', 'carousel', 'table'],
  limit: ['1', '5', '60', '0', '61'],
  page: ['2', '2&limit=5', '1000', '1001', '0'],
  sort: ['saving', 'price', 'newest', 'drop', 'random'],
  evidence: ['observed', 'observed&sort=drop', 'none'],
  min_discount: ['20', '99', '0', '100'],
  max_price: ['50', '49.905', '0', '1e3', '-1'],
  brand: ['lumen', '%C3%84ther', 'Nobody', ''],
  q: ['lamp', 'desk%20LAMP', 'ther', 'amp%207', '%22', ''],
}
/** The same on the other surfaces: one value for each option, and one that is wrong. */
const SHORT: Values = {
  theme: ['dark'],
  accent: ['ff6600'],
  locale: ['de', 'fr', '-'],
  currency: ['USD'],
  stock: ['in'],
  merchant: ['Kopje'],
  head: ['none'],
  heading: ['Our%20pick'],
  isolate: ['shadow'],
  sub: ['p123'],
}
const SHORT_BOX: Values = {
  layout: ['table', 'inline', 'x'],
  limit: ['2'],
  history: ['chart'],
  markup: ['schema'],
}
const SHORT_DEALS: Values = {
  layout: ['carousel'],
  limit: ['3', 'x'],
  page: ['2&limit=3'],
  q: ['desk'],
  evidence: ['observed'],
}

const PREFIX = { fragments: '/fragments', embeds: '/embeds', data: '/data', mail: '/mail', feeds: '/feeds' }

export const toBox = (surface: keyof typeof PREFIX, gtins: string, channel: string = CHANNEL_ID): string =>
  `${PREFIX[surface]}/${channel}/where-to-buy/${gtins}`
export const toPicks = (surface: keyof typeof PREFIX, gtins: string = `${LAMP},${KETTLE},${CHAIR}`): string =>
  `${PREFIX[surface]}/${CHANNEL_ID}/picks/${gtins}`
export const toGrid = (surface: keyof typeof PREFIX, channel: string = CHANNEL_ID): string =>
  `${PREFIX[surface]}/${channel}/deals${surface === 'feeds' ? '.atom' : ''}`

/** One request without options, and one for each value. */
const withOptions = (path: string, ...tables: readonly Values[]): RecordedRequest[] => [
  { path },
  ...tables.flatMap((table) =>
    Object.entries(table).flatMap(([name, values]) =>
      values.map((value) => ({ path: `${path}?${name}=${value}` })),
    ),
  ),
]

/** What a CMS may put in place of a GTIN. */
const GTIN_TEXTS: readonly string[] = [
  LAMP.slice(1),
  `${LAMP.slice(0, -1)}0`,
  `${SOLD_OUT}~${KETTLE}`,
  `${LAMP}~${KETTLE}~${UNKNOWN}`,
  `${LAMP}~x`,
  '',
  'x',
  '50%',
  '%20',
  '1-7',
  '123456789012345',
  `${LAMP}/`,
  `${LAMP},${KETTLE}`,
  KETTLE,
  CHAIR,
  SOLD_OUT,
  NO_OFFER,
  TITLES,
  MALFORMED,
  UNKNOWN,
]
const CHANNEL_TEXTS: readonly string[] = [CHANNEL_ID.toUpperCase(), NEWSLETTER_ID, UNKNOWN_ID, 'x', '%zz']

export const FRAGMENT_OPTIONS: readonly RecordedRequest[] = [
  ...withOptions(toBox('fragments', LAMP), COMMON, BOX),
  ...withOptions(toPicks('fragments'), PICKS, {
    else: [KETTLE],
    locale: ['de'],
    sub: ['p1'],
    markup: ['schema'],
  }),
  ...withOptions(toGrid('fragments'), DEALS, SHORT),
  ...toRequests([
    `${toBox('fragments', LAMP)}?layout=table&limit=2&theme=dark&accent=ff6600&locale=de&stock=in&head=compact`,
    `${toBox('fragments', LAMP)}?theme=dark&theme=light`,
    `${toBox('fragments', LAMP)}?THEME=dark&unknown=1&utm_source=x`,
    `${toBox('fragments', LAMP)}?&theme=dark&&`,
    `${toBox('fragments', LAMP)}?th%65me=dark`,
    `${toBox('fragments', SOLD_OUT)}?else=${NO_OFFER},${KETTLE}`,
    `${toBox('fragments', SOLD_OUT)}?stock=in`,
    `${toBox('fragments', LAMP)}?history=note&locale=de`,
    `${toBox('fragments', LAMP)}?history=chart&locale=fr&theme=dark`,
    `${toGrid('fragments')}?sort=price&currency=EUR&merchant=Kopje&min_discount=5&q=desk&limit=2`,
    `${toGrid('fragments')}?currency=USD`,
    `${toGrid('fragments', NEWSLETTER_ID)}?currency=SEK`,
  ]),
]

export const OTHER_SURFACES: readonly RecordedRequest[] = (['embeds', 'data', 'mail'] as const).flatMap(
  (surface) => [
    ...withOptions(toBox(surface, LAMP), SHORT, SHORT_BOX),
    ...withOptions(toPicks(surface), { layout: ['table', 'x'], label: ['a&label=b'] }),
    ...withOptions(toGrid(surface), SHORT_DEALS),
  ],
)

export const FEEDS: readonly RecordedRequest[] = [
  ...withOptions(toGrid('feeds'), SHORT_DEALS, { locale: ['de', '-'], sub: ['p1'], brand: ['Nobody'] }),
  ...toRequests([
    toGrid('feeds', NEWSLETTER_ID),
    toGrid('feeds', UNKNOWN_ID),
    '/feeds/x/deals.atom',
    '/feeds',
  ]),
]

export const PRODUCTS: readonly RecordedRequest[] = (
  ['fragments', 'embeds', 'data', 'mail'] as const
).flatMap((surface) => [
  ...toRequests(GTIN_TEXTS.slice(surface === 'fragments' ? 0 : -7).map((text) => toBox(surface, text))),
  ...toRequests(CHANNEL_TEXTS.map((channel) => toBox(surface, LAMP, channel))),
  ...toRequests([
    toGrid(surface, UNKNOWN_ID),
    toPicks(surface, `${UNKNOWN},${NO_OFFER}`),
    toPicks(surface, `${LAMP},${UNKNOWN}`),
    toPicks(surface, Array.from({ length: 21 }, () => LAMP).join(',')),
    toPicks(surface, ''),
    toPicks(surface, 'x'),
    `${PREFIX[surface]}/${CHANNEL_ID}/nonsense`,
    `${PREFIX[surface]}/${CHANNEL_ID}`,
    PREFIX[surface],
  ]),
])

/** A few addresses of each surface, for servers with other settings or data. */
export const FEW: readonly RecordedRequest[] = toRequests([
  toBox('fragments', LAMP),
  toBox('embeds', LAMP),
  toBox('data', LAMP),
  toBox('mail', LAMP),
  toPicks('fragments'),
  toGrid('fragments'),
  toGrid('embeds'),
  toGrid('feeds'),
  toBox('fragments', UNKNOWN),
])

/** Products that a catalog does not have. */
export const UNKNOWN_PRODUCTS: readonly RecordedRequest[] = toRequests(
  [91, 92, 93].map((index) => toBox('fragments', toGtin(index))),
)
