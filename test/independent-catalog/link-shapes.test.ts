import { describe, expect, test } from 'vitest'
import { setUpOnce } from '../helpers/cleanup.ts'
import { toGtin } from '../helpers/products.ts'
import { CHANNEL, makeOffer, makeProduct } from './catalog.ts'
import { type Session, type Shown, startSession } from './observe.ts'

/** `shown`: the link of the row; `null`: the offer is left out. */
type Case = readonly [name: string, link: unknown, shown: string | null]

const same = (name: string, link: string): Case => [name, link, link]

/** Section 2, Offer: "the caller's own tracking link". Every byte counts for tracking, so a link changes only where no address may be so. */
const CASES: readonly Case[] = [
  same('plain', 'https://links.example/c?shop=1'),
  same('http', 'http://links.example/c?shop=2'),
  same('capitals', 'HTTPS://Links.Example/C?Shop=3'),
  same('port, parameters of a path and fragment', 'https://links.example:8443/c;v=1?shop=4#buy'),
  same('no path', 'https://links.example?shop=5'),
  same('mixed percent encoding', 'https://links.example/c?u=https%3A%2f%2Fshop.example%2Fa%20b&x=%zz'),
  same('HTML entities', 'https://links.example/c?a=7&amp;b=8'),
  same('braces, brackets and pipes', 'https://links.example/c?subid={clickid}&d=[x]|y^z'),
  same('plus signs and quotes of an address', "https://links.example/c?q=a+b'c"),
  same('umlauts', 'https://links.example/café?q=größe'),
  same('international host', 'https://bücher.example/c?shop=9'),
  same('2 kB', `https://links.example/c?u=${'x'.repeat(1_900)}`),
  ['space in the path', 'https://links.example/a b?x=ü', 'https://links.example/a%20b?x=ü'],
  [
    'spaces in the destination',
    'https://links.example/c?u=https://shop.example/red shoes/eu 42&x=1',
    'https://links.example/c?u=https://shop.example/red%20shoes/eu%2042&x=1',
  ],
  [
    'quotes and angle brackets',
    'https://links.example/c?q="a"<b>',
    'https://links.example/c?q=%22a%22%3Cb%3E',
  ],
  ['spaces around', '  https://links.example/c?shop=10 ', 'https://links.example/c?shop=10'],
  ['line end at the end', 'https://links.example/c?shop=11\r\n', 'https://links.example/c?shop=11'],
  ['without a scheme', '//links.example/c?shop=12', null],
  ['relative', '/c?shop=13', null],
  ['script', 'javascript:alert(1)', null],
  ['credentials', 'https://user:secret@links.example/c?shop=14', null],
  ['6 kB', `https://links.example/c?u=${'x'.repeat(6_000)}`, null],
  ['empty', '', null],
  ['null', null, null],
]

const toShop = (index: number): string => `Shop ${String(index).padStart(2, '0')}`

const BOX = `/fragments/${CHANNEL}/where-to-buy/${toGtin(1)}?limit=50`

type Seen = Readonly<{ session: Session; cold: Shown; copy: Shown }>

const getSeen = setUpOnce(async (): Promise<Seen> => {
  const offers = CASES.map(([, link], index) => makeOffer(toShop(index), '49.90', { affiliate_url: link }))
  const session = await startSession({ products: [makeProduct(1, { offers })] })
  const cold = await session.show(BOX)
  await session.walk()
  await session.restart()
  return { session, cold, copy: await session.show(BOX) }
})

describe('link of an offer of another catalog, in a look-up and from the stored copy', () => {
  test.each(CASES.map(([name, , shown], index) => ({ name, shown, shop: toShop(index) })))(
    '$name',
    ({ shown, shop }) => {
      const rows = shown === null ? [] : [`${shop} €49.90 ${shown}`]
      const find = ({ rows: all }: Shown): readonly string[] => all.filter((row) => row.startsWith(shop))
      expect({ cold: find(getSeen().cold), copy: find(getSeen().copy) }).toEqual({ cold: rows, copy: rows })
    },
  )
})

test('unusable links - check and explain count them', async () => {
  const { session } = getSeen()
  const unusable = CASES.filter(([, link, shown]) => shown === null && link !== null).length
  const { wrong } = await session.check()
  expect(wrong).toEqual([
    expect.stringContaining(`malformed: ${unusable} offers without a usable link, 1 offer`),
  ])
  const shown = CASES.filter(([, , link]) => link !== null).length
  expect(await session.explain(toGtin(1))).toEqual({
    says: `A box is shown: ${shown} offers.`,
    calls: 'look-up',
  })
})
