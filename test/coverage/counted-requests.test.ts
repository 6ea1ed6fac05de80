import { describe, expect, test } from 'vitest'
import { type CountedSurface, isCountedRequest } from '../../src/coverage/counted-requests.ts'

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const BOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

function isCounted(surface: CountedSurface, headers: Record<string, string>, method = 'GET'): boolean {
  return isCountedRequest({ method, headers }, surface)
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
  ['https://widgets.example/studio?tab=picks', false],
  ['https://widgets.example/prefix/studio', false],
  ['https://widgets.example/article', true],
  ['https://widgets.example/studio-lamps', true],
  ['https://magazine.example/studio', true],
  ['not an address', true],
])('embed in %s - counted: %s', (referer, isExpected) => {
  const headers = { 'user-agent': FIREFOX, host: 'widgets.example', referer }
  expect(isCounted('embed', headers)).toBe(isExpected)
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
    ['purpose', 'prefetch'],
  ])('%s: %s - is not counted', (name, value) => {
    expect(isCounted(surface, { 'user-agent': FIREFOX, [name]: value })).toBe(false)
  })
})
