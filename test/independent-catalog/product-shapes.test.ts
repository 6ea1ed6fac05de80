import { describe, expect, test } from 'vitest'
import { setUpOnce } from '../helpers/cleanup.ts'
import { toGtin } from '../helpers/products.ts'
import { CHANNEL, type Entry, makeOffer, makeProduct } from './catalog.ts'
import { type Session, type Shown, startSession } from './observe.ts'

/** `change` gets the plain product. What is not expected here is as with the plain product. */
type Case = Readonly<{
  name: string
  change(product: Entry): unknown
  title?: string
  picture?: string
  /** Number of offers in the box. */
  offers?: number
  /** The reason that the box is hidden for, and that `explain` says. */
  hidden?: RegExp
  /** The look-up gives nothing usable, and the stored copy lacks the product. */
  isUnusable?: true
}>

const over = (name: string, fields: Entry, expected: Omit<Case, 'name' | 'change'> = {}): Case => ({
  name,
  change: (product) => ({ ...product, ...fields }),
  ...expected,
})

/** An entry that is unusable both in a page and in a look-up. */
const malformed = (name: string, fields: Entry, problem: RegExp): Case =>
  over(name, fields, { hidden: problem, isUnusable: true })

const PICTURE = 'https://pictures.example/lamp.jpg'
const [FIRST, SECOND] = [makeOffer('Kopje', '20.00'), makeOffer('Zwart', '30.00')]

/** Section 2, Product; "Which Product and Offer fields are required … not shown". */
const CASES: readonly Case[] = [
  over('plain', {}),
  over('unknown fields', { id: 1, variants: [], description: null, constructor: 'x', hasOwnProperty: 7 }),
  over(
    'title of 1,200 characters',
    { title: 'Lumen '.repeat(200) },
    { title: `${'Lumen '.repeat(49)}Lumen…` },
  ),
  over('title with HTML entities', { title: 'Kettle &amp; cup' }, { title: 'Kettle &amp; cup' }),
  over('title with markup', { title: '<b>Kettle</b>' }, { title: '<b>Kettle</b>' }),
  over('title with control characters', { title: '\u0000Ket\u0007tle\n\tblue' }, { title: 'Ket tle blue' }),
  over('title with half a surrogate pair', { title: 'Kettle \ud83d blue' }, { title: 'Kettle blue' }),
  malformed('title null', { title: null }, /malformed: no title/),
  malformed('no title', { title: undefined }, /malformed: no title/),
  malformed('empty title', { title: '' }, /malformed: no title/),
  over('brand null', { brand: null }),
  over('no brand', { brand: undefined }),
  over('brand as an object', { brand: { name: 'Orrin' } }),
  over('images null', { images: null }, { picture: '' }),
  over('no images', { images: undefined }, { picture: '' }),
  over('images empty', { images: [] }, { picture: '' }),
  over('images as strings', { images: [PICTURE] }, { picture: '' }),
  over(
    'image with other fields, after an unusable one',
    {
      images: [
        null,
        { url: null },
        { url: 'http://pictures.example/1.jpg' },
        { url: PICTURE, width: 7, alt: null },
      ],
    },
    { picture: PICTURE },
  ),
  malformed('offers null', { offers: null }, /malformed: .*offers/),
  malformed('no offers field', { offers: undefined }, /malformed: .*offers/),
  over('offers empty', { offers: [] }, { hidden: /no shop of this channel has an offer for it/ }),
  over('null among the offers', { offers: [null, FIRST, SECOND] }, { offers: 2 }),
  over('the same offer twice', { offers: [FIRST, FIRST] }, { offers: 1 }),
  over(
    'a shop in two networks',
    { offers: [FIRST, { ...FIRST, network: 'other', price: '19.00' }] },
    { offers: 1 },
  ),
  // The stored copy keeps 100 offers of a product.
  over(
    '300 offers',
    { offers: Array.from({ length: 300 }, (_, one) => makeOffer(`Shop ${one}`, '20.00')) },
    { offers: 100 },
  ),
  {
    name: 'GTIN of 13 digits',
    change: (product) => ({ ...product, gtin: String(product['gtin']).slice(1) }),
  },
  {
    name: 'GTIN as a number',
    change: (product) => ({ ...product, gtin: Number(product['gtin']) }),
    hidden: /./,
    isUnusable: true,
  },
  {
    name: 'GTIN with spaces',
    change: (product) => ({ ...product, gtin: ` ${String(product['gtin'])}` }),
    hidden: /./,
    isUnusable: true,
  },
  over('GTIN null', { gtin: null }, { hidden: /./, isUnusable: true }),
]

const toPath = (index: number): string => `/fragments/${CHANNEL}/where-to-buy/${toGtin(index)}?limit=50`

type Seen = Readonly<{ session: Session; cold: readonly Shown[]; copy: readonly Shown[]; walk: string }>

/** The `index`-th product has the shape of the `index`-th case. */
const getSeen = setUpOnce(async (): Promise<Seen> => {
  const session = await startSession({
    products: CASES.map((_, index) => makeProduct(index + 1)),
    shape: (product) => CASES.find((_, index) => toGtin(index + 1) === product['gtin'])?.change(product),
  })
  const showAll = async (): Promise<readonly Shown[]> => {
    const shown: Shown[] = []
    for (const index of CASES.keys()) shown.push(await session.show(toPath(index + 1)))
    return shown
  }
  const cold = await showAll()
  const walk = await session.walk()
  await session.restart()
  return { session, cold, copy: await showAll(), walk: walk.outcome }
})

const summarize = ({ state, head, rows }: Shown): object => ({ state, head, offers: rows.length })

describe.each(CASES.map((one, index) => ({ ...one, index: index + 1 })))(
  'product of another catalog - $name',
  (one) => {
    const { index, hidden, isUnusable = false } = one
    const { title = `Kettle ${index}`, picture = `https://pictures.example/${index}.jpg` } = one
    const shown = {
      state: 'shown',
      head: picture === '' ? title : `${title}, ${picture}`,
      offers: one.offers ?? 1,
    }
    const empty = { state: hidden && expect.stringMatching(hidden), head: '', offers: 0 }
    test('look-up - is shown or hidden after one call', () => {
      const cold = getSeen().cold[index - 1] as Shown
      const unavailable = { ...empty, state: 'unavailable' }
      expect(summarize(cold)).toEqual(isUnusable ? unavailable : hidden ? empty : shown)
      expect(cold.calls).toBe(index === 1 ? 'channels look-up' : 'look-up')
    })

    test('stored copy - the same without a call', () => {
      const copy = getSeen().copy[index - 1] as Shown
      expect([summarize(copy), copy.calls]).toEqual([hidden ? empty : shown, ''])
    })
  },
)

test.each(
  CASES.map((one, index) => ({ ...one, index: index + 1 })).filter(({ hidden }) => hidden !== undefined),
)(
  'explain, product of another catalog - $name - has the reason of the box, after one call',
  async ({ index, hidden = /./ }) => {
    const explanation = { says: expect.stringMatching(hidden), calls: 'look-up' }
    expect(await getSeen().session.explain(toGtin(index))).toEqual(explanation)
  },
)

test('malformed products - check counts them, and no request breaks the interface', async () => {
  const { session, walk } = getSeen()
  const dropped = CASES.filter(({ isUnusable }) => isUnusable).length
  expect(walk).toContain(`${dropped} product,`)
  expect((await session.check()).wrong).toEqual([
    expect.stringContaining(`malformed: ${dropped} products without GTIN`),
  ])
  expect(session.catalog.complaints).toEqual([])
})
