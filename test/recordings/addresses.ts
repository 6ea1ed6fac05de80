import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import type { RecordedRequest } from './recorder.ts'
import { toBasic, toRequests, withHeader, withMethods } from './request-tables.ts'
import { CHAIR, KETTLE, LAMP, NEWSLETTER_ID, SOLD_OUT, UNKNOWN, UNKNOWN_ID } from './sample.ts'
import { toBox, toGrid, toPicks } from './widget-addresses.ts'

/** One address for each kind of body. */
const ALL_KINDS: readonly string[] = [
  toBox('fragments', LAMP),
  toGrid('embeds'),
  toPicks('data'),
  toBox('mail', LAMP),
  toGrid('feeds'),
  '/embed.js',
  '/accents/ff6600.css',
  '/openapi.json',
  '/healthz',
]

export const PROTOCOL: readonly RecordedRequest[] = [
  ...withHeader(ALL_KINDS, 'Accept-Encoding', [
    'br',
    'gzip',
    'zstd, *;q=0.1',
    'br;q=0, gzip;q=0.5',
    'identity',
  ]),
  ...withHeader(ALL_KINDS, 'If-None-Match', ['same', '"other"', '*']),
  ...withMethods(ALL_KINDS, ['HEAD', 'OPTIONS', 'POST']),
  ...withMethods(
    [toBox('fragments', UNKNOWN), toBox('embeds', 'x'), '/nonsense', '/'],
    ['HEAD', 'PUT', 'DELETE'],
  ),
  ...withHeader([toBox('fragments', LAMP)], 'If-None-Match', ['W/"x", "y"', '']),
  { path: toBox('fragments', LAMP), headers: { 'Accept-Encoding': 'br', 'If-None-Match': 'same' } },
  {
    path: `${toBox('embeds', LAMP)}?sub=p1`,
    headers: { 'Accept-Encoding': 'gzip', 'If-None-Match': 'same' },
  },
  { path: toBox('fragments', LAMP), headers: { Range: 'bytes=0-9' } },
  { path: toBox('fragments', LAMP), headers: { Cookie: 'a=b', Origin: 'https://other.example' } },
  { path: toBox('fragments', LAMP), headers: { Expect: 'nothing' } },
  { path: toBox('fragments', LAMP), headers: { Cookie: 'x'.repeat(9_000) } },
  { path: `${toBox('fragments', LAMP)}?sub=${'x'.repeat(8_000)}` },
  { path: `${toBox('fragments', LAMP)}#theme` },
  ...toRequests([
    '/',
    '/nonsense',
    '/fragments/',
    '//fragments',
    '/%zz',
    '/studio/x',
    '/robots.txt',
    '/favicon.ico',
  ]),
]

const toOembed = (path: string, rest = ''): string =>
  `/oembed?url=${encodeURIComponent(`https://widgets.example${path}`)}${rest}`

export const OEMBED: readonly RecordedRequest[] = toRequests([
  toOembed(toBox('embeds', LAMP)),
  toOembed(toBox('embeds', LAMP), '&format=xml'),
  toOembed(toBox('embeds', LAMP), '&format=yaml'),
  toOembed(toBox('embeds', LAMP), '&maxwidth=320&maxheight=100'),
  toOembed(toBox('embeds', LAMP), '&maxwidth=x'),
  toOembed(`${toBox('embeds', LAMP)}?layout=card&limit=1&sub=p1&locale=de`),
  toOembed(toPicks('embeds')),
  toOembed(`${toGrid('embeds')}?limit=3`),
  toOembed(toBox('embeds', UNKNOWN)),
  toOembed(toBox('embeds', LAMP, UNKNOWN_ID)),
  toOembed(`${toBox('embeds', LAMP)}?limit=x`),
  toOembed(toBox('fragments', LAMP)),
  '/oembed?url=https%3A%2F%2Fother.example%2F',
  '/oembed?url=x',
  '/oembed',
])

/** Links to an offer of the lamp. */
export const toRedirects = (path: string): readonly RecordedRequest[] => {
  const offerId = path.split('/').at(-1) ?? ''
  return [
    ...toRequests([
      path,
      `${path}?sub=p123`,
      `${path}?sub=${'x'.repeat(100)}`,
      path.toUpperCase().replace('/GO', '/go'),
    ]),
    { path, method: 'HEAD' },
    { path, headers: { 'Sec-Purpose': 'prefetch' } },
    ...toRequests([
      `/go/${CHANNEL_ID}/${LAMP}/0000000000000000`,
      `/go/${CHANNEL_ID}/${UNKNOWN}/${offerId}`,
      `/go/${UNKNOWN_ID}/${LAMP}/${offerId}`,
      `/go/${CHANNEL_ID}/x/${offerId}`,
      '/go',
    ]),
  ]
}

/** On a server without a password. */
export const CLOSED: readonly RecordedRequest[] = toRequests([
  '/studio',
  '/studio/gallery',
  '/metrics',
  '/events.atom',
  '/readyz',
  '/',
  toOembed(toBox('embeds', LAMP)),
])

const OWN_PREFIX = '/shop/widgets'

export const BELOW_PREFIX: readonly RecordedRequest[] = [
  ...toRequests([
    `${OWN_PREFIX}${toBox('fragments', LAMP)}`,
    `${OWN_PREFIX}${toBox('embeds', LAMP)}?sub=p1`,
    `${OWN_PREFIX}/embed.js`,
    `${OWN_PREFIX}/nonsense`,
    OWN_PREFIX,
    `${OWN_PREFIX}${OWN_PREFIX}/embed.js`,
    `/oembed?url=${encodeURIComponent(`https://www.magazine.example${OWN_PREFIX}${toBox('embeds', LAMP)}`)}`,
    '/openapi.json',
  ]),
  ...['/studio', '/events.atom', '/metrics'].map((path) => ({
    path,
    headers: toBasic('admin', 'studio-password'),
  })),
]

export const DEMO: readonly RecordedRequest[] = [
  ...toRequests([
    '/demo/pictures/headphones-1.webp',
    '/demo/pictures/x.webp',
    '/demo/shop',
    '/demo/shop?url=https%3A%2F%2Fx.example%2F&a=%3Cb%3E',
  ]),
  ...['/', '/studio', '/studio?tab=feeds', '/metrics', '/readyz', '/nonsense', toBox('embeds', LAMP)].flatMap(
    (path) => ['127.0.0.1', 'widgets.example'].map((Host) => ({ path, headers: { Host } })),
  ),
]

/** Pictures of the deals that the first page of a grid shows. */
export const DEAL_PICTURES: readonly string[] = Array.from({ length: 16 }, (_, index) => `deal-${index}.jpg`)

/** `lamp`, `broken` and `missing`: hashes of pictures. */
export const toPictures = ({
  lamp,
  broken,
  missing,
}: Readonly<Record<'lamp' | 'broken' | 'missing', string>>) => {
  const paths = [`/pictures/${lamp}/320`, `/pictures/${lamp}/320.jpg`]
  return [
    ...toRequests([...paths, `/pictures/${broken}/320`, `/pictures/${missing}/160`, `/pictures/${lamp}/321`]),
    ...toRequests([`/pictures/${'0'.repeat(32)}/320`, '/pictures/x/320', '/pictures']),
    ...withMethods(paths, ['HEAD', 'POST']),
    ...withHeader(paths, 'If-None-Match', ['same', '"other"']),
  ]
}

export const ASSETS: readonly RecordedRequest[] = [
  ...['vitrine.css', 'studio.css', 'frame.js', 'studio.js', 'embed.js'].flatMap((name) => [
    { path: `/assets/${name}` },
    { path: `/assets/${name.replace('.', '.00000000.')}` },
  ]),
  ...toRequests(['/assets/x.00000000.css', '/assets/', '/assets/..%2fpackage.json', '/accents/FF6600.css']),
  ...toRequests([
    '/accents/fff.css',
    '/accents/ff6600.js',
    '/accents/000000.css',
    '/logos/x.svg',
    '/logos/..%2fshops.json',
  ]),
]

const ADMIN = toBasic('admin', 'studio-password')

const STUDIO_PATHS: readonly string[] = [
  '/studio',
  '/studio/',
  `/studio?channel=${CHANNEL_ID}&gtin=${LAMP}`,
  `/studio?gtin=${LAMP}&layout=table&locale=de&theme=dark&accent=%23ff6600&sub=p1`,
  `/studio?gtin=${LAMP}&history=chart&limit=x`,
  `/studio?gtin=${LAMP}~${KETTLE}&else=${CHAIR}&also=chair`,
  `/studio?gtin=${UNKNOWN}`,
  `/studio?gtin=${SOLD_OUT}`,
  '/studio?gtin=x&find=lamp',
  `/studio?channel=${NEWSLETTER_ID}`,
  `/studio?channel=${UNKNOWN_ID}`,
  `/studio?tab=picks&gtins=${LAMP},${KETTLE}&label=a&label=b`,
  `/studio?tab=picks&gtins=${LAMP}&change=add%20${KETTLE}`,
  `/studio?tab=picks&gtins=${LAMP},${KETTLE}&change=up%20${KETTLE}`,
  `/studio?tab=picks&gtins=${LAMP},${KETTLE}&change=remove%20${LAMP}`,
  `/studio?gtin=${LAMP}&change=variant%20${KETTLE}`,
  `/studio?gtin=${LAMP}&change=stand-in%20${CHAIR}`,
  '/studio?change=nonsense',
  '/studio?tab=deals',
  '/studio?tab=deals&q=desk&brand=Lumen&sort=price&evidence=observed',
  '/studio?tab=coverage',
  '/studio?tab=coverage&days=30',
  '/studio?tab=feeds',
  '/studio?tab=health',
  `/studio/sentence?channel=${CHANNEL_ID}&gtin=${LAMP}`,
  '/studio/sentence',
  '/studio/gallery',
  '/studio/gallery?layout=all&theme=dark&from=5',
  '/studio/gallery?locale=ar&width=phone',
  '/studio/gallery/pictures/x',
  '/studio/gallery/logos/x',
  '/events.atom',
  '/readyz',
  '/',
]

const HEALTH_PATHS: readonly string[] = ['/healthz', '/readyz', '/readyz?require=database', '/metrics']

export const STUDIO: readonly RecordedRequest[] = [
  ...STUDIO_PATHS.map((path) => ({ path, headers: ADMIN })),
  { path: '/studio', headers: { ...ADMIN, 'Accept-Encoding': 'br' } },
  { path: '/events.atom', headers: { ...ADMIN, 'If-None-Match': 'same' } },
  ...withMethods(['/studio', '/events.atom', '/metrics'], ['GET', 'HEAD', 'POST']),
  { path: '/studio', headers: { 'X-Forwarded-For': '203.0.113.9' } },
]

export const HEALTH: readonly RecordedRequest[] = [
  ...toRequests(HEALTH_PATHS),
  { path: '/metrics', headers: ADMIN },
  { path: '/readyz', headers: ADMIN },
]

/** Ten wrong passwords lock an address. */
export const WRONG_PASSWORDS: readonly RecordedRequest[] = [
  { path: '/studio', headers: toBasic('root', 'studio-password') },
  { path: '/metrics', headers: { Authorization: 'Bearer studio-password' } },
  ...Array.from({ length: 9 }, (_, index) => ({
    path: '/studio',
    headers: toBasic('admin', `wrong-${index}`),
  })),
  { path: '/studio', headers: ADMIN },
  { path: '/readyz', headers: ADMIN },
  { path: '/healthz' },
]
