import { describe, expect, test } from 'vitest'
import { findIdentity } from '../../src/widgets/addresses.ts'
import { BOX, BOX_EMBED, GRID, GRID_EMBED, GTIN, startStocked } from '../app/visit.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'

describe('plain address', () => {
  test.each([
    '',
    '?',
    '?limit=3&theme=dark',
    '?theme=dark&limit=3&utm_source=x',
    '?q=a%20b&q2=',
    `?x=${'y'.repeat(900)}`,
  ])('with %s - has the identity that its widget will have', async (query) => {
    const { context } = await startStocked()
    const asked = { channelId: CHANNEL_ID, query: new URLSearchParams(query) }
    const box = await context.widgets.getBox({ ...asked, gtin: GTIN, surface: 'fragment' })
    const frame = await context.widgets.getBox({ ...asked, gtin: GTIN, surface: 'embed' })
    const grid = await context.widgets.getGrid({ ...asked, surface: 'fragment' })
    const gridFrame = await context.widgets.getGrid({ ...asked, surface: 'embed' })
    const find = (path: string): string | undefined => findIdentity(`${path}${query}`, context.widgets)
    const identities = [box, frame, grid, gridFrame].map((widget) => widget.identity)
    expect([BOX, BOX_EMBED, GRID, GRID_EMBED].map(find)).toEqual(identities)
    expect(new Set(identities).size).toBe(4)
  })

  test('other spellings of channel and GTIN - the same identity', async () => {
    const { context } = await startStocked()
    const spellings = [CHANNEL_ID, CHANNEL_ID.toUpperCase()].flatMap((channel) =>
      [GTIN, GTIN.slice(1)].map((gtin) => `/fragments/${channel}/where-to-buy/${gtin}`),
    )
    expect(new Set(spellings.map((path) => findIdentity(path, context.widgets))).size).toBe(1)
  })

  test.each([
    '/',
    '/embed.js',
    '/studio',
    `${BOX}/`,
    `${GRID}/`,
    BOX.replace('/fragments', '/Fragments'),
    BOX.replace('/fragments', '//fragments'),
    `/fragments/%33/where-to-buy/${GTIN}`,
    `/fragments/${CHANNEL_ID}/where-to-buy/`,
    `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}0`,
    `/fragments/${CHANNEL_ID}/where-to-buy/12a`,
    `${BOX}?limit=0`,
    `${BOX}?theme=dark&theme=light`,
    `${BOX}?a#b`,
    `${BOX}?x=${'y'.repeat(2_048)}`,
  ])('%s - only the router can tell', async (address) => {
    const { context } = await startStocked()
    expect(findIdentity(address, context.widgets)).toBeUndefined()
  })
})
