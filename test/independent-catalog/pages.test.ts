import { describe, expect, test } from 'vitest'
import type { Entry, Freedoms } from './catalog.ts'
import { type Case, GOOD, expectFailedWalk, expectPages } from './expected.ts'
import { observe } from './observe.ts'
import { selectCases } from '../helpers/property-runs.ts'

/** Change the list that answers a request of a page. */
const wrap = (change: (list: Entry) => unknown): Partial<Freedoms> => ({
  wrap: (list, { operation }) => (operation === 'page' ? change(list) : list),
})

const UNSORTED = 'the page of products is not sorted by GTIN'
const NO_PAGE = 'the page of products has no items or no usable next_cursor'
const NO_PROGRESS = 'the product pages make no progress: they are empty or repeat a cursor'

const twoByTwo = (freedoms: Partial<Freedoms>): Partial<Freedoms> => ({ pageSize: 2, ...freedoms })

/** Section 4.2: "`items` holds up to `limit` products, ordered by `gtin`". */
const PAGES: readonly Case[] = [
  ['pages of two products', twoByTwo({}), expectPages(3)],
  ['pages of one product', { pageSize: 1 }, expectPages(5)],
  ['an empty last page', { pageSize: 5, knowsEnd: false }, expectPages(2)],
  ['an empty page between pages', twoByTwo({ emptyPages: 1 }), expectPages(5)],
  ['ten empty pages between pages', twoByTwo({ emptyPages: 10 }), expectPages(23)],
  [
    'sixty empty pages between pages',
    twoByTwo({ emptyPages: 60 }),
    expectFailedWalk(NO_PROGRESS, 'channels page x52'),
  ],
  ['pages that repeat the last product', twoByTwo({ overlap: 1 }), expectPages(4)],
  ['page with a total and a cursor back', wrap((list) => ({ ...list, total: 5, prev_cursor: null })), {}],
  [
    'pages without brands',
    { shape: (product, operation) => (operation === 'page' ? { ...product, brand: undefined } : product) },
    {},
  ],
  [
    'null in a page',
    { arrange: ([first, ...rest]) => [first, null, ...rest] as Entry[] },
    { walk: { outcome: 'complete, 1 product', calls: 'channels page' } },
  ],
  [
    'a page in reverse order',
    { arrange: (products) => products.toReversed() },
    expectFailedWalk(UNSORTED, 'channels page'),
  ],
  [
    'pages in reverse order',
    twoByTwo({ arrange: (products) => products.toReversed() }),
    expectFailedWalk(UNSORTED, 'channels page'),
  ],
  ['page without items', wrap(() => ({ next_cursor: null })), expectFailedWalk(NO_PAGE, 'channels page x4')],
  ['page without an object', wrap(({ items }) => items), expectFailedWalk(NO_PAGE, 'channels page x4')],
]

const withCursor = (toCursor: (position: number) => unknown): Partial<Freedoms> => twoByTwo({ toCursor })

/** Section 4.2: "`next_cursor` is `null` on the last page; otherwise it is passed unchanged". */
const CURSORS: readonly Case[] = [
  ['no cursor on the last page', twoByTwo({ lastCursor: undefined }), expectPages(3)],
  ['empty cursor on the last page', twoByTwo({ lastCursor: '' }), expectPages(3)],
  [
    'cursor with every kind of character',
    withCursor((position) => `+/=&?#% "<>\\ü\u{1f600}\n\t%2F..;,${position}`),
    expectPages(3),
  ],
  ['cursor of 4,000 characters', withCursor((position) => `${'x'.repeat(4_000)}${position}`), expectPages(3)],
  ['cursor of digits', withCursor((position) => `000${position}`), expectPages(3)],
  ['cursor of spaces', withCursor((position) => ' '.repeat(position)), expectPages(3)],
  [
    'cursors "null" and "undefined"',
    withCursor((position) => (position < 4 ? 'null' : 'undefined')),
    expectPages(3),
  ],
  [
    'cursor that is an address',
    withCursor((position) => `https://other.example/v0/channels?cursor=${position}`),
    expectPages(3),
  ],
  ['the same cursor again', withCursor(() => 'same'), expectFailedWalk(NO_PROGRESS, 'channels page x2')],
  ['cursor as a number', withCursor((position) => position), expectFailedWalk(NO_PAGE, 'channels page x4')],
  ['cursor as an object', withCursor((after) => ({ after })), expectFailedWalk(NO_PAGE, 'channels page x4')],
]

describe.each<[string, readonly Case[]]>([
  ['pages', PAGES],
  ['cursors', CURSORS],
])('%s of another catalog', (_section, cases) => {
  test.each(selectCases(cases).map((one) => [one[0], one] as const))(
    '%s - right for readers and operators, with the fewest calls',
    async (_name, [, freedoms, expected, setup]) => {
      expect(await observe(freedoms, setup)).toEqual({ ...GOOD, ...expected })
    },
  )
})
