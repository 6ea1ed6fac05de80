import { describe, expect, test } from 'vitest'
import { isCountedRequest } from '../../src/coverage/counted-requests.ts'

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const BOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

const PUBLIC_URL = 'https://magazine.example/shops'

function isCounted(surface: string, headers: Record<string, string>, method = 'GET'): boolean {
  return isCountedRequest({ method, headers }, surface, PUBLIC_URL)
}

describe.each(['embed', 'go'] as const)('request of %s', (surface) => {
  test('of a browser - is counted, also the second time', () => {
    expect(isCounted(surface, { 'user-agent': FIREFOX })).toBe(true)
    expect(isCounted(surface, { 'user-agent': FIREFOX })).toBe(true)
  })

  test.each([
    ['a bot', BOT],
    ['curl', 'curl/8.14.1'],
    ['a headless browser', 'HeadlessChrome/147.0'],
  ])('of %s - is not counted', (_name, agent) =>
    expect(isCounted(surface, { 'user-agent': agent })).toBe(false),
  )

  test('without an agent - is not counted', () => {
    expect(isCounted(surface, {})).toBe(false)
  })

  test('with an agent of 100,000 characters - is judged by its beginning', () => {
    expect(isCounted(surface, { 'user-agent': `${FIREFOX} ${'x'.repeat(100_000)}` })).toBe(true)
  })
})

test.each([
  ['https://magazine.example/shops/studio', false],
  ['http://magazine.example/shops/studio/?tab=picks', false],
  ['https://magazine.example/shops/studio/gallery#list', false],
  ['http://127.0.0.1:3000/shops/studio?tab=picks', false],
  ['https://magazine.example/photo/studio/lamps', true],
  ['https://magazine.example/studio', true],
  ['https://magazine.example/shops/studio-lamps', true],
  ['https://magazine.example/shops?from=/shops/studio', true],
  ['https://other.example/shops/studio', true],
  ['not an address', true],
])('embed in %s - counted: %s', (referer, isExpected) => {
  const headers = { 'user-agent': FIREFOX, host: '127.0.0.1:3000', referer }
  expect(isCounted('embed', headers)).toBe(isExpected)
})

test('embed behind a proxy that replaces the host - is counted, except in the studio', () => {
  const headers = { 'user-agent': FIREFOX, host: 'vitrine_servers' }
  const referers = ['https://magazine.example/shops/studio', 'https://magazine.example/article']
  expect(referers.map((referer) => isCounted('embed', { ...headers, referer }))).toEqual([false, true])
})

test('embed without host and referer - is counted', () => {
  expect(isCounted('embed', { 'user-agent': FIREFOX })).toBe(true)
})

test('fragment - is counted for every agent, because servers fetch it', () => {
  expect(isCounted('fragment', { 'user-agent': BOT })).toBe(true)
  expect(isCounted('fragment', {})).toBe(true)
})

describe.each(['fragment', 'embed', 'go'] as const)('request of %s that no reader sees', (surface) => {
  test('HEAD - is not counted', () => {
    expect(isCounted(surface, { 'user-agent': FIREFOX }, 'HEAD')).toBe(false)
  })

  test.each([
    ['sec-purpose', 'prefetch'],
    ['sec-purpose', 'prefetch;prerender'],
    ['sec-purpose', 'prefetch;anonymous-client-ip'],
    ['sec-purpose', 'prerender'],
    ['purpose', 'prefetch'],
    ['x-purpose', 'preview'],
    ['x-moz', 'prefetch'],
  ])('%s: %s - is not counted', (name, value) => {
    expect(isCounted(surface, { 'user-agent': FIREFOX, [name]: value })).toBe(false)
  })
})
