import { describe, expect, test } from 'vitest'
import { CHANNEL, type Call, type Entry, type Freedoms, PLAIN } from './catalog.ts'
import { type Case, FAILED_LOOK_UP, GOOD, NOT_FOUND, expectNothing, expectPages } from './expected.ts'
import { observe } from './observe.ts'
import { selectCases } from '../helpers/property-runs.ts'

const [PLAIN_CHANNEL = {}] = PLAIN.channels

const withChannel = (change: Entry): Partial<Freedoms> => ({ channels: [{ ...PLAIN_CHANNEL, ...change }] })

/** Change the list that answers an operation. */
const wrap = (operation: Call['operation'], change: (list: Entry) => unknown): Partial<Freedoms> => ({
  wrap: (list, call) => (call.operation === operation ? change(list) : list),
})

/** Other channels have no products. */
const manyChannels = (count: number): Partial<Freedoms> => ({
  channels: Array.from({ length: count }, (_, index) => ({
    ...PLAIN_CHANNEL,
    id: index === 0 ? CHANNEL : `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  })),
  wrap: (list, call) =>
    call.operation === 'page' && call.channel !== CHANNEL ? { items: [], next_cursor: null } : list,
})

const UNUSUAL_ID = 'fffffffe-ffff-ffff-ffff-ffffffffffff'

/** Section 2, Channel; section 4.1: "object `{ items: [Channel, ...] }`". */
const CHANNELS: readonly Case[] = [
  ['id in capitals', withChannel({ id: CHANNEL.toUpperCase() }), {}],
  ['id of no version', withChannel({ id: UNUSUAL_ID }), {}, { channel: UNUSUAL_ID }],
  ['url null', withChannel({ url: null }), {}],
  ['url that is no address', withChannel({ url: 'my site' }), {}],
  ['no url', withChannel({ url: undefined }), {}],
  ['unknown kind', withChannel({ kind: 'podcast' }), {}],
  ['kind null', withChannel({ kind: null }), {}],
  ['empty name', withChannel({ name: '' }), {}],
  ['name null', withChannel({ name: null }), {}],
  ['no name', withChannel({ name: undefined }), {}],
  ['the same channel twice', { channels: [PLAIN_CHANNEL, PLAIN_CHANNEL] }, {}],
  ['name with markup and a line end', withChannel({ name: '<b>Ü & Söhne</b>\n' }), {}],
  ['unknown fields', withChannel({ created_at: 7, networks: [] }), {}],
  ['a broken channel beside a good one', { channels: [{ id: 7, name: null }, PLAIN_CHANNEL] }, {}],
  [
    'list with a total and a cursor',
    wrap('channels', (list) => ({ ...list, total: 1, next_cursor: 'x' })),
    {},
  ],
  ['100 channels', manyChannels(100), expectPages(100)],
  [
    'list without an object',
    wrap('channels', ({ items }) => items),
    expectNothing('list of channels has no items', 'channels x4'),
  ],
  [
    'items null',
    wrap('channels', () => ({ items: null })),
    expectNothing('list of channels has no items', 'channels x4'),
  ],
]

/** Section 4.3: "One Product", "404: no shop that the channel is approved for sells the product". */
const LOOK_UPS: readonly Case[] = [
  [
    'look-up of another product',
    {
      shape: (product, operation) =>
        operation === 'look-up' ? { ...product, gtin: '09521234000020' } : product,
    },
    FAILED_LOOK_UP,
  ],
  [
    'look-up in an envelope',
    { shape: (product, operation) => (operation === 'look-up' ? { data: product } : product) },
    FAILED_LOOK_UP,
  ],
  [
    'look-up as a list',
    { shape: (product, operation) => (operation === 'look-up' ? [product] : product) },
    FAILED_LOOK_UP,
  ],
  [
    '404 for a product that the pages have',
    { intercept: ({ operation }) => (operation === 'look-up' ? PLAIN.notFound : undefined) },
    NOT_FOUND,
  ],
]

describe.each<[string, readonly Case[]]>([
  ['channels', CHANNELS],
  ['look-ups', LOOK_UPS],
])('%s of another catalog', (_section, cases) => {
  test.each(selectCases(cases).map((one) => [one[0], one] as const))(
    '%s - right for readers and operators, with the fewest calls',
    async (_name, [, freedoms, expected, setup]) => {
      expect(await observe(freedoms, setup)).toEqual({ ...GOOD, ...expected })
    },
  )
})
