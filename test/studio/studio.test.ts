import { describe, expect, test } from 'vitest'
import type { Channel } from '../../src/catalog/contract.ts'
import type { CopyState } from '../../src/copy/store.ts'
import { type StudioData, parseStudioChoice, toStudioView } from '../../src/widgets/studio.ts'
import type { StudioWidgetView } from '../../src/widgets/view-models.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'

const CHANNEL: Channel = {
  id: CHANNEL_ID,
  name: 'Magazine',
  kind: 'website',
  url: 'https://magazine.example/',
}
const PLAIN = { channelId: null, gtin: null, query: '', theme: 'auto', locale: 'en' } as const

const STATE: CopyState = {
  currentWalk: 3,
  completedAtMs: NOON_MS,
  completedStartedAtMs: NOON_MS - 1_000,
  productCount: 1_236,
  dealCount: 7,
  drops: {},
  isRunning: false,
  failure: null,
  failedAtMs: null,
}

const makeData = (over: Partial<StudioData> = {}): StudioData => ({
  publicUrl: 'https://widgets.example',
  styles: [],
  studioScript: '/s.js',
  loaderScript: '/embed.js',
  isSample: false,
  channels: [CHANNEL],
  channel: CHANNEL,
  choice: PLAIN,
  defaultLocale: 'en',
  defaultCurrency: null,
  matches: [],
  product: makeProduct(),
  state: STATE,
  ...over,
})

const parse = (query: string): unknown => parseStudioChoice(new URLSearchParams(query), 'en')
const getHeight = (widget: StudioWidgetView | null): string | undefined =>
  /height="(\d+)"/.exec(widget?.snippets.find(({ id }) => id === 'iframe')?.code ?? '')?.[1]

describe('choice on the start page', () => {
  test.each(['', 'channel=&gtin=&q=&theme=&locale=', 'utm_source=x'])('%s - nothing is chosen', (query) => {
    expect(parse(query)).toEqual(PLAIN)
  })

  test('every field - is read', () => {
    expect(parse('channel=ABC&gtin=%20123%20&q=desk+lamp&theme=dark&locale=de-at')).toEqual({
      channelId: 'abc',
      gtin: '123',
      query: 'desk lamp',
      theme: 'dark',
      locale: 'de-AT',
    })
  })

  test.each([
    ['theme=blue', PLAIN],
    ['locale=no+such', PLAIN],
    [`q=${'x'.repeat(101)}`, PLAIN],
    [`channel=${'x'.repeat(101)}&theme=dark`, { ...PLAIN, theme: 'dark' }],
    ['gtin=1&gtin=2', PLAIN],
    ['gtin=&gtin=2', { ...PLAIN, gtin: '2' }],
  ])('%s - what cannot be read counts as not given, the rest stays', (query, choice) => {
    expect(parse(query)).toEqual(choice)
  })
})

describe('channels and matches', () => {
  test('channels - the chosen one is marked, addresses are cut at 100 characters', () => {
    const other = { ...CHANNEL, id: 'x', url: `https://a.example/${'b'.repeat(100)}` }
    const { channels, chosenChannelId } = toStudioView(
      makeData({ channels: [CHANNEL, other, { ...CHANNEL, id: 'y', url: null }] }),
    )
    expect(channels.map(({ id, isChosen }) => [id, isChosen])).toEqual([
      [CHANNEL_ID, true],
      ['x', false],
      ['y', false],
    ])
    expect(channels.map(({ url }) => url?.length)).toEqual([25, 100, undefined])
    expect(channels[1]?.url?.endsWith('…')).toBe(true)
    expect(chosenChannelId).toBe(CHANNEL_ID)
  })

  test('matches - links that keep the search, the theme and the locale; defaults are left out', () => {
    const matches = [makeProduct(), makeProduct({ gtin: toGtin(2), images: [], brand: null })]
    const base = `https://widgets.example/studio?channel=${CHANNEL_ID}&gtin=`
    const plain = toStudioView(makeData({ matches })).matches
    expect(plain.map(({ href, isChosen }) => [href, isChosen])).toEqual([
      [base + toGtin(1), true],
      [base + toGtin(2), false],
    ])
    expect(plain[1]).toMatchObject({ imageUrl: null, brand: null, title: 'Lumen Arc desk lamp' })
    const choice = { ...PLAIN, query: 'a & b', theme: 'dark', locale: 'de' } as const
    expect(toStudioView(makeData({ matches, choice })).matches[0]?.href).toBe(
      `${base}${toGtin(1)}&q=a+%26+b&theme=dark&locale=de`,
    )
  })
})

const measure = (over: Partial<StudioData>): string | undefined => getHeight(toStudioView(makeData(over)).box)

const shows = (over: Partial<StudioData>): boolean[] => {
  const { box, grid } = toStudioView(makeData(over))
  return [box !== null, grid !== null]
}

describe('widgets of the start page', () => {
  test('box - addresses and placeholder of the product', () => {
    const { box } = toStudioView(makeData())
    const path = `${CHANNEL_ID}/where-to-buy/${toGtin(1)}`
    expect(box).toMatchObject({
      kind: 'where-to-buy',
      title: 'Where to buy Lumen Arc desk lamp',
      fragmentUrl: `https://widgets.example/fragments/${path}`,
      embedUrl: `https://widgets.example/embeds/${path}`,
    })
    const attributes = Object.fromEntries(box?.attributes.map(({ name, value }) => [name, value]) ?? [])
    expect(attributes).toMatchObject({
      'data-vitrine': 'where-to-buy',
      'data-channel': CHANNEL_ID,
      'data-gtin': toGtin(1),
    })
  })

  test('theme and locale - are in addresses and placeholder when they differ from the defaults', () => {
    const choice = { ...PLAIN, theme: 'light', locale: 'de' } as const
    const { grid } = toStudioView(makeData({ choice }))
    expect(grid?.embedUrl).toBe(`https://widgets.example/embeds/${CHANNEL_ID}/deals?theme=light&locale=de`)
    expect(grid?.attributes).toEqual(
      expect.arrayContaining([
        { name: 'data-vitrine', value: 'deals' },
        { name: 'data-theme', value: 'light' },
        { name: 'data-locale', value: 'de' },
      ]),
    )
    const german = toStudioView(makeData({ choice: { ...PLAIN, locale: 'de' }, defaultLocale: 'de' }))
    expect(german.grid?.fragmentUrl).toBe(`https://widgets.example/fragments/${CHANNEL_ID}/deals`)
  })

  test('height of the frame - fits what the box shows: one currency, five offers and the fold', () => {
    const offers = ['a', 'b', 'c', 'd', 'e', 'f'].map((merchant) => makeParsedOffer({ merchant }))
    const dollars = ['x', 'y'].map((merchant) => makeParsedOffer({ merchant, currency: 'USD' }))
    expect(measure({ product: makeProduct({ offers }) })).toBe('716')
    expect(measure({ product: makeProduct({ offers: [...offers, ...dollars] }) })).toBe('716')
    expect(
      measure({ product: makeProduct({ offers: [...offers, ...dollars] }), defaultCurrency: 'USD' }),
    ).toBe('442')
  })

  test.each([
    [1, '560'],
    [12, '1580'],
    [13, '1580'],
  ])('%i deals - a frame of %s pixels: twelve cards at most', (dealCount, heightPx) => {
    expect(getHeight(toStudioView(makeData({ state: { ...STATE, dealCount } })).grid)).toBe(heightPx)
  })

  test('no channel - no widget; no product - no box; no deal - no grid', () => {
    expect(shows({})).toEqual([true, true])
    expect(shows({ channel: null })).toEqual([false, false])
    expect(shows({ product: null })).toEqual([false, true])
    expect(shows({ state: { ...STATE, dealCount: 0 } })).toEqual([true, false])
    expect(shows({ state: null })).toEqual([true, false])
  })
})

const notice = (over: Partial<StudioData>): string | null => toStudioView(makeData(over)).notice

describe('notice', () => {
  const unwalked = { ...STATE, currentWalk: 0, dealCount: 0 }

  test('everything there - none', () => {
    expect(notice({})).toBeNull()
  })

  test('what is missing - is said, the first cause alone', () => {
    expect(notice({ channel: null, product: null, state: null })).toMatch(/^No channel is known yet/)
    expect(notice({ product: null, state: null })).toMatch(/^The catalog has not been walked yet/)
    expect(notice({ state: unwalked })).toMatch(/^The catalog has not been walked yet/)
    expect(notice({ product: null, state: unwalked })).toMatch(/^The catalog has not been walked yet/)
    expect(notice({ state: { ...STATE, dealCount: 0 } })).toMatch(/^No offer of this channel is on sale now/)
  })

  test('no match - repeats the search, or the GTIN where nothing was searched', () => {
    const choice = { ...PLAIN, query: 'lamp', gtin: '123' }
    expect(notice({ product: null, choice })).toBe('No product of this channel matches "lamp".')
    expect(notice({ product: null, choice: { ...choice, query: '' } })).toBe(
      'No product of this channel matches "123".',
    )
    expect(notice({ product: null, choice: PLAIN })).toBe('The catalog has no product for this channel.')
  })
})

const listHealth = (over: Partial<StudioData>): string[] =>
  toStudioView(makeData(over)).health.map(
    ({ label, value, isGood }) => `${isGood ? 'good' : 'bad'} ${label}: ${value.replaceAll('\u202f', ' ')}`,
  )

describe('health', () => {
  test('walked copy - all good', () => {
    expect(listHealth({})).toEqual([
      'good Channels: 1',
      'good Products: 1,236',
      'good Products with a deal: 7',
      'good Last complete walk: Nov 21, 2026, 12:00 PM UTC',
      'good Last walk failed with: nothing',
      'good Left out: nothing',
    ])
  })

  test('empty copy after a broken walk - says what is bad', () => {
    const state = {
      ...STATE,
      completedAtMs: null,
      productCount: 0,
      dealCount: 0,
      failure: 'VITRINE_CATALOG_STATUS',
      drops: { price: 1_005, link: 2 },
    }
    expect(listHealth({ channels: [], state })).toEqual([
      'bad Channels: 0',
      'bad Products: 0',
      'good Products with a deal: 0',
      'bad Last complete walk: none yet',
      'bad Last walk failed with: VITRINE_CATALOG_STATUS',
      'good Left out: 1,005 by price, 2 by link',
    ])
  })

  test('no copy at all - the channels alone', () => {
    expect(listHealth({ state: null })).toEqual(['good Channels: 1'])
  })
})
