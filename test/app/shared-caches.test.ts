import type { RequestListener } from 'node:http'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { listenHttp } from '../../src/http/server.ts'
import { OPTION_LIST } from '../../src/widgets/option-list.ts'
import { type CdnResponse, sendRequest } from '../system/cdn/send-request.ts'
import { makeWireOffer } from '../helpers/fake-catalog.ts'
import { BOX, BOX_EMBED, GRID, GRID_EMBED, makeProductOnSale, startStockedHarness } from './app-client.ts'
import { toRunCount } from '../helpers/property-runs.ts'

const NAMES: ReadonlySet<string> = new Set(OPTION_LIST.map(({ name }) => name))
const LIST = [...NAMES].join('|')

/** Start the real server over the app and return how to request a raw target of it. */
async function startRawServer(app: RequestListener): Promise<(target: string) => Promise<CdnResponse>> {
  const server = await listenHttp('127.0.0.1', 0, systemClock)
  server.setHandler(app)
  onTestFinished(() => server.stop())
  return (target) => sendRequest(`http://127.0.0.1:${server.port}${target}`)
}

/** Start a server whose box has two shops, so that options change the response. */
async function startStockedServer(): Promise<(target: string) => Promise<CdnResponse>> {
  const offers = [
    makeWireOffer({ old_price: '99.80' }),
    makeWireOffer({ merchant: { name: 'Tweede' }, old_price: '90.00' }),
  ]
  return startRawServer((await startStockedHarness([makeProductOnSale({ offers })])).app)
}

/** Return the key under which a cache stores a target; `undefined` if the cache rejects the target. */
type CacheKey = (target: string) => string | undefined

type Split = Readonly<{ path: string; query: string }>

function split(target: string): Split {
  const start = target.indexOf('?')
  return start === -1
    ? { path: target, query: '' }
    : { path: target.slice(0, start), query: target.slice(start + 1) }
}

/** A cache keyed by an allow list of the documented names, in any order (docs/operate/cdn.md). */
const byAllowList =
  (toName: (text: string) => string): CacheKey =>
  (target) => {
    const { path, query } = split(target)
    const allowed = query.split('&').flatMap((pair) => {
      const [name = '', ...value] = pair.split('=')
      return NAMES.has(toName(name)) ? [`${toName(name)}=${value.join('=')}`] : []
    })
    return `${path}?${allowed.toSorted((one, other) => compareNames(one, other)).join('&')}`
  }

/** Compare only names, so that repeated options stay in their order. */
const compareNames = (one: string, other: string): number =>
  (one.split('=', 1)[0] ?? '').localeCompare(other.split('=', 1)[0] ?? '')

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const REPEATED = new RegExp(`(?:^|&)(${LIST})(?:=|&|$)(?:.*&)?\\1(?:=|&|$)`)
const ODD_NAME = /(?:^|&)[^=&]*[%+]/
const LOOSE_NAME = new RegExp(`(?:^|&)(${LIST})(?:=|&|$)`, 'gi')
const GIVEN = new RegExp(`(?:^|&)(?:${LIST})=[^&]`, 'g')

/** The key of deploy/nginx/vitrine-cache.conf without its guard: servers must not depend on that. */
const byNginx: CacheKey = (target) => {
  const { path, query } = split(target)
  const [args = ''] = query.split('#', 1)
  const isLoose = (args.match(LOOSE_NAME) ?? []).length !== (args.match(GIVEN) ?? []).length
  if (REPEATED.test(args) || ODD_NAME.test(args) || isLoose) return `${path}?${args}`
  const values = [...NAMES].map((name) => new RegExp(`(?:^|&)${name}=([^&]*)`, 'i').exec(args)?.[1] ?? '')
  return `${path} ${values.join('&')}`
}

/** The key of deploy/varnish/vitrine.vcl, which is also what Varnish requests. */
const byVarnish: CacheKey = (target) => {
  if (target.includes('#')) return undefined
  const { path, query } = split(target)
  const allowed = query.split('&').filter((pair) => {
    const [name = ''] = pair.split('=', 1)
    return NAMES.has(name) || /[%+]/.test(name)
  })
  // It does not sort labels, which are for the products in their order.
  const isSorted = !allowed.some((pair) => /^(?:label|[^=]*%[^=]*)(?:=|$)/i.test(pair))
  return `${path}?${(isSorted ? allowed.toSorted() : allowed).join('&')}`
}

const CACHES: readonly (readonly [name: string, toKey: CacheKey])[] = [
  ['nginx', byNginx],
  ['Varnish', byVarnish],
  ['a cache with an allow list', byAllowList((name) => name)],
  ['a cache with an allow list that decodes names', byAllowList(decodeName)],
  [
    'a cache with an allow list that ends the query at "#"',
    (target) => byAllowList((name) => name)(target.split('#', 1)[0] ?? ''),
  ],
]

const option = fc.constantFrom(
  'theme=dark',
  'limit=1',
  'merchant=Tweede',
  'exclude=Kopje',
  'locale=de',
  'layout=list',
  'sub=p1',
  'sub=p2',
  'label=Best',
  'label=Apple',
  'label=',
  'else=1',
)

/** A round-up whose second product is sold: its label is the second one. */
const PICKS = BOX.replace('/where-to-buy/', '/picks/1,')

/** Texts that only some query parsers read as an option. */
const disguised = fc
  .tuple(
    option,
    fc.constantFrom('?', '??', '#', '#&', '#?', ';', '+', '%26', '%3F', 'x=1?', 'x=1#&', '%23&', '=', ''),
  )
  .chain(([pair, before]) => {
    const encoded = `%${(pair.codePointAt(0) ?? 0).toString(16)}${pair.slice(1)}`
    return fc.constantFrom(
      before + pair,
      before + encoded,
      `${before}${pair.toUpperCase()}`,
      pair.replace('=', '%3D'),
    )
  })
const unknownParameter = fc.constantFrom('utm_source=a', 'x', '', '?', 'fbclid=x?y', '_=%20')

/** A target of a widget, and variants with parts that some caches ignore. */
const targets = fc
  .tuple(fc.constantFrom(BOX, BOX_EMBED, GRID, GRID_EMBED, PICKS), fc.uniqueArray(option, { maxLength: 2 }))
  .chain(([path, options]) => {
    const extra = fc.array(
      fc.oneof({ arbitrary: disguised, weight: 2 }, { arbitrary: unknownParameter, weight: 1 }),
      {
        minLength: 1,
        maxLength: 2,
      },
    )
    const query = extra.chain((more) =>
      fc.shuffledSubarray([...options, ...more], { minLength: options.length + more.length }),
    )
    return fc
      .array(query, { minLength: 3, maxLength: 6 })
      .map((queries) => [options, ...queries].map((parts) => `${path}?${parts.join('&')}`))
  })

describe('shared caches', () => {
  test('two targets with one cache key - the same response, or one that is not stored', async () => {
    const get = await startStockedServer()
    await fc.assert(
      fc.asyncProperty(targets, async (group) => {
        const storable: (readonly [target: string, received: CdnResponse])[] = []
        for (const target of group) {
          const received = await get(target)
          if (received.headers['cache-control'] !== 'no-store') storable.push([target, received])
        }
        for (const [cache, toKey] of CACHES) {
          const stored = new Map<string, readonly [target: string, body: string]>()
          for (const [target, { body }] of storable) {
            const key = toKey(target)
            if (key === undefined) continue
            const [first, other] = stored.get(key) ?? [target, body]
            stored.set(key, [first, other])
            expect(body === other, `${cache}: ${first} and ${target}`).toBe(true)
          }
        }
      }),
      { numRuns: toRunCount(150) },
    )
  })

  test.each(['?merchant=Nobody', 'x=1#&merchant=Nobody', '#&merchant=Nobody', '%6derchant=Nobody'])(
    '?%s - never hides the shops of the plain address',
    async (query) => {
      const get = await startStockedServer()
      const plain = await get(BOX)
      const disguise = await get(`${BOX}?${query}`)
      const isStored = disguise.headers['cache-control'] !== 'no-store'
      expect([plain.headers['vitrine-state'], isStored && disguise.body !== plain.body]).toEqual([
        'shown',
        false,
      ])
    },
  )
})

describe('target with a "#"', () => {
  const PATHS = [
    BOX,
    GRID,
    BOX_EMBED,
    GRID_EMBED,
    '/',
    '/studio',
    '/oembed',
    '/embed.js',
    '/healthz',
    '/go/a/b/c',
    '/nothing',
  ]

  test.each(PATHS)('%s# - 400 with a reason, not stored', async (path) => {
    const get = await startStockedServer()
    await get(path)
    for (const target of [`${path}#`, `${path}?x=1#&merchant=Nobody`, `${path}#?x`]) {
      const { status, headers, body } = await get(target)
      expect({ status, ...headers }).toMatchObject({
        status: 400,
        'cache-control': 'no-store',
        'vitrine-state': 'invalid',
        'vitrine-error': expect.stringContaining('%23') as string,
        'content-length': String(body.length),
      })
      expect(body.startsWith('<!-- Vitrine: ') && body.endsWith(' -->')).toBe(path.startsWith('/fragments/'))
    }
  })

  test('cached response of the same address without "#" - is not used', async () => {
    const get = await startStockedServer()
    for (let visits = 0; visits < 3; visits += 1) await get(`${BOX}?limit=1`)
    expect((await get(`${BOX}?limit=1#`)).status).toBe(400)
    expect((await get(`${BOX}?limit=1`)).status).toBe(200)
  })
})

test('query of the address in an oEmbed request - is parsed in the same way', async () => {
  const get = await startStockedServer()
  const fetchOembed = async (query: string): Promise<CdnResponse> =>
    get(`/oembed?url=${encodeURIComponent(`https://widgets.example${BOX_EMBED}${query}`)}`)
  const plain = await fetchOembed('')
  expect((await fetchOembed('??limit=1')).body).toBe(plain.body)
  expect((await fetchOembed('#?limit=1')).body).toBe(plain.body)
  expect((await fetchOembed('?limit=1')).body).toContain('limit=1')
  expect((await fetchOembed('?%6cimit=1')).body).toBe((await fetchOembed('?limit=1')).body)
})

test.each([BOX, BOX_EMBED, GRID, GRID_EMBED])(
  '%s with a percent-encoded option name - the same response, not stored',
  async (path) => {
    const get = await startStockedServer()
    // Try this before and after the plain address is cached.
    for (let visits = 0; visits < 2; visits += 1) {
      const encoded = await get(`${path}?%6cimit=1`)
      expect(encoded.headers['cache-control']).toBe('no-store')
      const plain = await get(`${path}?limit=1`)
      expect(plain.headers['cache-control']).toMatch(/^public/)
      expect(encoded.body).toBe(plain.body)
    }
  },
)
