import type { StandaloneOptions } from '../../src/catalog-service/monitoring.ts'
import { createCatalogService } from '../../src/catalog-service/service.ts'
import { updateOrganization } from '../../src/catalog-service/store/organizations.ts'
import { HOUR_MS } from '../../src/clock.ts'
import { Secret } from '../../src/config/secrets.ts'
import {
  CHECKED_AT,
  addApiKey,
  createOffer,
  createProduct,
  importRows,
  openSqliteTestStore,
} from '../catalog-service/harness.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { toGtin } from '../helpers/products.ts'
import type { RecordedRequest, RecordedServer } from './recorder.ts'
import { toBasic, withHeader, withMethods } from './request-tables.ts'

const CHANNEL = '952a0000-0000-4000-8000-0000000000a1'
const LONG = toGtin(1)
const SALE = toGtin(2)
const WITHOUT_OFFERS = toGtin(3)
const NAMES = { [CHANNEL]: 'channel', [LONG]: 'product', [SALE]: 'sale', [WITHOUT_OFFERS]: 'without offers' }

type Key = Readonly<{ Authorization: string }>

/** Start the service with a few products; it is closed after the test. */
export async function startSampleCatalog({
  dailyLimit = null,
  standalone,
}: Readonly<{ dailyLimit?: number | null; standalone?: StandaloneOptions }> = {}): Promise<
  RecordedServer & Readonly<{ key: Key }>
> {
  const fixture = await openSqliteTestStore()
  const { store } = fixture
  const soon = new Date(Date.parse(CHECKED_AT) + HOUR_MS / 60).toISOString()
  const offers = ['Shop A', 'Shop B', 'Ü & <b>'].map((name, index) =>
    createOffer({
      merchant: { name },
      price: `${10 + index}.50`,
      old_price: '20',
      currency: index === 2 ? 'SEK' : 'EUR',
    }),
  )
  await importRows(
    fixture,
    [
      createProduct(LONG, {
        title: 'Long "title" <b>',
        images: [{ url: 'https://img.example/1.jpg' }],
        offers,
      }),
      createProduct(SALE, { offers: [createOffer({ old_price: '12.00', sale_ends_at: soon })] }),
      createProduct(WITHOUT_OFFERS, { offers: [] }),
      ...Array.from({ length: 20 }, (_, index) => createProduct(toGtin(10 + index))),
    ],
    { channelId: CHANNEL },
  )
  const { key } = await addApiKey(store, 'test')
  await store.write(async (writer) => {
    const { id } = await writer.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
    await updateOrganization(writer, id, { dailyLimit })
  })
  const service = createCatalogService({
    store,
    logger: { error: () => undefined },
    ...(standalone && { standalone }),
  })
  const { url } = await service.listen('127.0.0.1', 0)
  addCleanup(() => service.close())
  return {
    url,
    names: NAMES,
    randomNames: { [key]: 'key', [fixture.folder]: 'folder' },
    key: { Authorization: `Bearer ${key}` },
  }
}

/** As `catalog serve` runs it. */
export const STANDALONE: StandaloneOptions = {
  adminPassword: new Secret('catalog-password'),
  isLocal: true,
  priceMaxAgeSeconds: 86_400,
  logger: { info: () => undefined },
}

const LIST = `/v0/channels/${CHANNEL}/products`

const LIST_QUERIES: readonly string[] = [
  '',
  '?limit=1',
  '?limit=200',
  '?limit=0',
  '?limit=201',
  '?limit=x',
  '?limit=1&limit=2',
  `?limit=2&cursor=${Buffer.from(`gtin:${SALE}`).toString('base64url')}`,
  '?cursor=',
  '?cursor=x',
  '?unknown=1',
]

const GTIN_TEXTS: readonly string[] = [
  LONG,
  LONG.slice(1),
  SALE,
  WITHOUT_OFFERS,
  toGtin(99),
  `${LONG}/`,
  '',
  'x',
  '1-7',
  '123456789012345',
  '%zz',
  `${LONG}/x`,
]

const PUBLIC_PATHS: readonly string[] = [
  '/',
  '/docs',
  '/docs.css',
  '/openapi.json',
  '/Docs',
  '/healthz',
  '/readyz',
  '/metrics',
]

/** Requests to each service. */
export const toCatalogRequests = (key: Key): readonly RecordedRequest[] => {
  const paths = [
    '/v0/channels',
    '/v0/channels/',
    '/V0/channels',
    '/v0',
    '/v1/channels',
    '/nonsense',
    ...LIST_QUERIES.map((query) => `${LIST}${query}`),
    ...GTIN_TEXTS.map((text) => `${LIST}/${text}`),
    ...[CHANNEL.toUpperCase(), CHANNEL.replace('a1', 'a2'), 'x'].map((id) => `/v0/channels/${id}/products`),
  ]
  const kinds = ['/v0/channels', LIST, `${LIST}/${LONG}`]
  const withKey = (requests: readonly RecordedRequest[]): readonly RecordedRequest[] =>
    requests.map((request) => ({ ...request, headers: { ...key, ...request.headers } }))
  return [
    ...withKey(paths.map((path) => ({ path }))),
    ...withKey(withHeader(kinds, 'If-None-Match', ['same', '"other"'])),
    ...withKey(withHeader(kinds, 'Accept-Encoding', ['br', 'gzip'])),
    ...withKey(withMethods(kinds, ['HEAD', 'OPTIONS', 'POST'])),
    ...withKey([{ path: LIST, headers: { 'If-None-Match': 'same', 'Accept-Encoding': 'br' } }]),
    ...withKey([{ path: LIST, headers: { Expect: 'nothing' } }]),
    ...[...kinds, '/nonsense', `${LIST}/%zz`].map((path) => ({ path })),
    ...withHeader(['/v0/channels'], 'Authorization', ['Bearer wrong', 'Bearer', 'Basic eDp5', '']),
    ...PUBLIC_PATHS.map((path) => ({ path })),
    ...withMethods(PUBLIC_PATHS, ['HEAD', 'POST']),
    ...['/readyz', '/metrics'].map((path) => ({ path, headers: toBasic('admin', 'catalog-password') })),
  ]
}

export const DAILY_LIMIT = 3

/** More requests than the daily limit. Those without a valid key do not count. */
export const toLimitedRequests = (key: Key): readonly RecordedRequest[] => [
  { path: '/v0/channels' },
  ...Array.from({ length: DAILY_LIMIT }, () => ({ path: '/v0/channels', headers: key })),
  ...['/v0/channels', LIST, '/nonsense'].map((path) => ({ path, headers: key })),
  { path: '/openapi.json' },
]
