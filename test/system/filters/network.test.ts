import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { LISTS, type LoadedList, describeWithLists, findRules, loadList } from './filter-lists.ts'
import { useServer } from '../use-server.ts'
import { type OwnAddress, collectAddresses, fetchOwnPages } from './own-pages.ts'

/** Where publishers run the server: on a subdomain, below a path of their site, or on a separate host. */
const SERVER_URLS = [
  'https://widgets.magazine.example',
  'https://vitrine.magazine.example',
  'https://deals.magazine.example',
  'https://www.magazine.example/widgets',
  'https://www.magazine.example/vitrine',
  'https://vitrine.example',
  'http://192.0.2.7:3000',
]

/** The requesting page: on the same site as some of these servers, and on another site. */
const PAGES = [
  'https://www.magazine.example/reviews/lamp',
  'https://journal.other.example/2026/11/headphones',
]

const CHANNEL = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g

/** Number of variants of each kind of address, with other channels, products and builds. */
const VARIANTS = 100

const server = useServer()
let own: readonly OwnAddress[]

/** Move an address of the test server to another server URL. */
function moveTo(url: string, serverUrl: string): string {
  const { publicUrl } = server.addresses
  return url
    .replaceAll(publicUrl, serverUrl)
    .replaceAll(encodeURIComponent(publicUrl), encodeURIComponent(serverUrl))
}

/** Replace channel, product, offer, color, build, picture and logo in an address; in half of the variants the IDs begin with "ad". */
function vary(url: string, seed: number): string {
  const hex = createHash('sha256').update(String(seed)).digest('hex')
  const start = seed % 2 === 0 ? `ad${hex.slice(0, 6)}` : hex.slice(0, 8)
  const channel = `${start}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  const gtin = String(Number.parseInt(hex.slice(32, 43), 16))
    .padStart(14, '0')
    .slice(-14)
  return url
    .replaceAll(CHANNEL, channel)
    .replaceAll(/(?<=\/|%2F)\d{14}(?!\d)/g, gtin)
    .replace(/(?<=\/)[\da-f]{16}$/, hex.slice(44, 60))
    .replace(/(?<=\.)[\da-f]{8}(?=\.\w+$)/, start)
    .replace(/(?<=\/accents\/)[\da-f]{6}(?=\.)/, start.slice(0, 6))
    .replace(/(?<=\/pictures\/)[\da-f]{8}/, start)
    .replace(/(?<=\/logos\/)[\da-f]{8}/, start)
}

/** Return the rules of a list that match any of the addresses, each with an address that it matches. */
function findAll(list: LoadedList, addresses: readonly OwnAddress[]): readonly string[] {
  const found = new Map<string, string>()
  for (const { url, type } of addresses) {
    for (const serverUrl of SERVER_URLS) {
      for (const pageUrl of PAGES) {
        const moved = moveTo(url, serverUrl)
        for (const rule of findRules(list.engine, { url: moved, type, pageUrl }))
          found.set(rule, `${type} ${moved}`)
      }
    }
  }
  return [...found].map(([rule, address]) => `${rule} matches ${address}`)
}

/** Return one address of each kind: by type, and by path without IDs and numbers. */
function pickKinds(addresses: readonly OwnAddress[]): readonly OwnAddress[] {
  const kinds = addresses.map((address): [string, OwnAddress] => [
    `${address.type} ${new URL(address.url).pathname.replaceAll(CHANNEL, '').replaceAll(/[\d.]+/g, '')}`,
    address,
  ])
  return [...new Map(kinds).values()]
}

describeWithLists('addresses of the server, network rules', () => {
  beforeAll(async () => {
    own = collectAddresses(await fetchOwnPages(server.addresses), server.addresses.publicUrl)
  })

  test('collected addresses - contain every kind of address, with its resource type', () => {
    const { publicUrl } = server.addresses
    const kinds = new Set(
      own.map(({ url, type }) => `${type} /${url.slice(publicUrl.length + 1).split(/[/?]/)[0]}`),
    )
    expect([...kinds]).toEqual(
      expect.arrayContaining([
        'script /embed.js',
        'script /assets',
        'stylesheet /assets',
        'stylesheet /accents',
        'sub_frame /embeds',
        'xhr /fragments',
        'fetch /fragments',
        'xhr /oembed',
        'image /demo',
        'main_frame /go',
        'main_frame /studio',
      ]),
    )
  })

  describe.each(LISTS)('$title', (details) => {
    let list: LoadedList
    beforeAll(() => {
      list = loadList(details)
    })

    test('list - has as many rules as the real one', () => {
      expect(list.ruleCount).toBeGreaterThan(details.minRules)
    })

    test.each(details.blocked)(
      '$path, a known match - is blocked on every server',
      ({ path, type, rule }) => {
        for (const serverUrl of SERVER_URLS) {
          for (const pageUrl of PAGES)
            expect(findRules(list.engine, { url: `${serverUrl}${path}`, type, pageUrl })).toContain(rule)
        }
      },
    )

    test('every address - on every server - matches no rule', () => {
      expect(findAll(list, own)).toEqual([])
    })

    test('every kind of address - with other channels, products and builds - matches no rule', () => {
      const variants = pickKinds(own).flatMap(({ url, type }) =>
        Array.from({ length: VARIANTS }, (_, seed) => ({ url: vary(url, seed), type })),
      )
      expect(findAll(list, variants)).toEqual([])
    })
  })
})
