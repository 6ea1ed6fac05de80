import { expect, it, vi } from 'vitest'
import { computeOfferId } from '../../../src/widgets/presentation.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { VISITOR_HEADERS, findVisitorHeaders } from '../includes/visitor.ts'
import { type Answered, ask, judge } from './ask.ts'
import { type FrontPlace, toBox } from './place.ts'
import type { Front } from './programs.ts'

/** A front under test, and what stands behind it. */
export type Fronted = Readonly<{ place(): FrontPlace; front(): Front }>

/** Visitors who come at the same time. */
const VISITORS = 30

/** No product has it. */
const UNSOLD_GTIN = toGtin(9_000)

/** What every shared cache in front has to do with our answers while all is well. */
export function itIsASharedCache(name: string, { place, front }: Fronted): void {
  const see = (path: string, headers?: Readonly<Record<string, string>>): Promise<Answered> =>
    ask(front().origin + path, headers && { headers })

  it(`${name} - many visitors of a cold box - are one question`, async () => {
    const path = toBox(place().nextGtin())
    const seen = await Promise.all(Array.from({ length: VISITORS }, () => see(path)))
    expect(new Set(seen.map(judge))).toEqual(new Set(['shown']))
    expect(place().count(path)).toBe(1)
  })

  it(`${name} - parameters that nobody knows, and another order - split nothing`, async () => {
    const path = toBox(place().nextGtin())
    const spellings = [
      '?limit=1&theme=dark',
      '?theme=dark&limit=1',
      '?utm_source=a&theme=dark&limit=1',
      '?limit=1&fbclid=x?y&theme=dark&_=%20',
      '?limit=1&theme=dark&unlimited=2',
    ]
    const bodies = new Set<string>()
    for (const spelling of spellings) bodies.add((await see(path + spelling)).body)
    expect(bodies.size).toBe(1)
    expect(place().count(path)).toBe(1)
  })

  it(`${name} - addresses that look alike - are answered as by the server, in any order`, async () => {
    const path = toBox(place().nextGtin())
    const [server] = place().servers
    const queries = LOOK_ALIKE.flatMap((query) => [query, query])
    for (const query of [...queries, ...queries.toReversed()]) {
      const [direct, fronted] = [
        await ask(`http://127.0.0.1:${server?.port}${path}${query}`),
        await see(path + query),
      ]
      expect({ query, status: fronted.status, body: fronted.body }).toEqual({
        query,
        status: direct.status,
        body: direct.body,
      })
    }
  })

  itSharesNoDisguise(name, { place, front })

  it(`${name} - a hidden box - is kept, and empty`, async () => {
    const path = toBox(UNSOLD_GTIN)
    expect([judge(await see(path)), judge(await see(path))]).toEqual(['hidden', 'hidden'])
    expect(place().count(path)).toBe(1)
  })

  it(`${name} - unavailable - is not kept: the next who asks has the box`, async () => {
    const path = toBox(place().nextGtin())
    await place().setAll('unavailable')
    const while_ = [judge(await see(path)), judge(await see(path))]
    expect(while_).toEqual(['unavailable', 'unavailable'])
    await place().setAll('shown')
    expect(judge(await see(path))).toBe('shown')
  })

  it(`${name} - a mistake in a template - is told to each who makes it`, async () => {
    const path = toBox(place().nextGtin())
    for (const turn of [1, 2]) {
      const { status, body, headers } = await see(`${path}?limit=none`)
      expect({ status, control: headers['cache-control'] }).toEqual({ status: 400, control: 'no-store' })
      expect(body).toContain('limit')
      expect(place().count(path)).toBe(turn)
    }
  })

  it(`${name} - a visitor's own headers - change nothing and go nowhere`, async () => {
    const path = toBox(place().nextGtin())
    const [first, plain] = [await see(path, VISITOR_HEADERS), await see(path)]
    expect([first.status, first.body]).toEqual([200, plain.body])
    expect([plain.headers['content-encoding'], plain.headers['set-cookie']]).toEqual([undefined, undefined])
    const asked = place().gates.flatMap(({ requests }) => requests.filter(({ url }) => url === path))
    // Varnish asks for gzip whatever the visitor wants; a fragment is never compressed.
    expect(asked.flatMap(findVisitorHeaders).filter((header) => header !== 'accept-encoding')).toEqual([])
  })

  it(`${name} - a visitor who has it - is told so by the cache`, async () => {
    const path = toBox(place().nextGtin())
    const { etag } = (await see(path)).headers
    const known = await see(path, { 'if-none-match': String(etag) })
    expect([known.status, known.body]).toEqual([304, ''])
    expect(place().count(path)).toBe(1)
  })

  it(`${name} - too old - is asked for by its ETag, and 304 makes it new`, async () => {
    const path = toBox(place().nextGtin())
    place().setMaxAge(1)
    const { etag, 'vitrine-state': state } = (await see(path)).headers
    await vi.waitFor(async () => {
      await see(path)
      expect(place().count(path)).toBeGreaterThan(1)
    })
    place().setMaxAge(null)
    const asked = place().gates.flatMap(({ requests }) => requests.filter(({ url }) => url === path))
    expect(asked.at(-1)?.headers['if-none-match'] ?? asked.at(0)?.headers['if-none-match']).toBe(etag)
    const after = await see(path)
    expect([judge(after), after.headers.etag, state]).toEqual(['shown', etag, 'shown'])
  })

  it.each(['br', 'gzip', 'identity'])(
    `${name} - an embed and its style sheet as %s - are kept as such`,
    async (encoding) => {
      const path = toBox(place().nextGtin()).replace('/fragments/', '/embeds/')
      const { body } = await see(path, { 'accept-encoding': 'identity' })
      const style = /\/assets\/vitrine\.[0-9a-f]+\.css/.exec(body)?.[0] ?? 'no style sheet'
      for (const file of [path, `${style}?v=1`, '/embed.js']) {
        const first = await see(file, { 'accept-encoding': encoding })
        const [before, second] = [
          place().count(file.split('?')[0] ?? ''),
          await see(file, { 'accept-encoding': encoding }),
        ]
        expect([first.status, second.body]).toEqual([200, first.body])
        expect(place().count(file.split('?')[0] ?? '')).toBe(before)
        expect(['identity', encoding, 'gzip']).toContain(second.headers['content-encoding'] ?? 'identity')
      }
    },
  )

  it(`${name} - a link to a shop - is never kept`, async () => {
    const offer = computeOfferId({ network: 'brightlink', merchant: 'Kopje', currency: 'EUR' })
    const path = `/go/${CHANNEL_ID}/${place().nextGtin()}/${offer}`
    for (const turn of [1, 2]) {
      const { status, headers } = await see(path)
      expect([status, headers.location]).toEqual([302, 'https://links.example/c?shop=kopje'])
      expect(place().count(path)).toBe(turn)
    }
  })

  it.each(OPERATORS_ONLY)(`${name} - %s - is for operators' addresses alone`, async (path) => {
    const asked = place().count(path)
    for (const asking of [{ from: '127.0.0.2' }, { headers: { 'x-forwarded-for': '192.0.2.7' } }])
      expect((await ask(front().origin + path, asking)).status).toBe(404)
    expect(place().count(path)).toBe(asked)
    await see(path)
    expect(place().count(path)).toBe(asked + 1)
  })

  it.each(['POST', 'DELETE', 'OPTIONS'])(`${name} - %s - is no method here`, async (method) => {
    const path = toBox(place().nextGtin())
    expect((await ask(front().origin + path, { method })).status).toBe(405)
    expect(place().count(path)).toBe(0)
  })
}

/** Options that a cache does not see in an address must not be seen by the server. */
export function itSharesNoDisguise(name: string, { place, front }: Fronted): void {
  it.each(DISGUISED)(
    `${name} - an option disguised as %s - never reaches the next visitor`,
    async (query) => {
      const path = toBox(place().nextGtin())
      const plain = (await ask(`http://127.0.0.1:${place().servers[0]?.port}${path}`)).body
      const disguised = await ask(front().origin + path + query)
      const isStorable = disguised.status === 200 && disguised.headers['cache-control'] !== 'no-store'
      expect(!isStorable || disguised.body === plain).toBe(true)
      for (const visitor of ['', '?utm=1', '?x=1', '']) {
        const { status, body } = await ask(front().origin + path + visitor)
        expect({ status, body }).toEqual({ status: 200, body: plain })
      }
    },
  )
}

/** What no visitor is let through to, and spellings that a server takes for the same. */
const OPERATORS_ONLY = [
  '/metrics',
  '/healthz?deep=1',
  '/studio/gallery',
  '/METRICS',
  '/%6detrics',
  '/studi%6f/',
]

/** Queries whose option is seen by some readers and not by others. */
const DISGUISED = [
  '??merchant=Nobody',
  '???merchant=Nobody&utm=1',
  '?x=1#&merchant=Nobody',
  '?utm=1#&merchant=Nobody',
  '#?merchant=Nobody',
  '?%6derchant=Nobody',
  '?x=1?merchant=Nobody',
  '?x=1;merchant=Nobody',
]

/** Queries that a careless cache key would take for one another. */
const LOOK_ALIKE: readonly string[] = [
  '',
  '?',
  '?limit=1',
  '?Limit=1',
  '?%6cimit=1',
  '?limit=1&limit=2',
  '?limit=2&limit=1',
  '?xlimit=1',
  '?limit=',
  '?limit',
  '?merchant=Kopje',
  '?merchant=Tweede',
  '?merchant=Kopje&merchant=Tweede',
  '?merchant=Tweede&utm_source=a&merchant=Nobody',
  '?exclude=Kopje',
  '?exclude=Kopje&merchant=Tweede',
  '?theme=dark?limit=1',
  '?layout=table&limit=1',
  '?limit=1&theme=dark',
  '?limit=1%26theme=dark',
]
