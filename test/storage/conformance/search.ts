import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Product } from '../../../src/catalog/contract.ts'
import { makeProduct, toGtin } from '../../helpers/products.ts'
import { CHANNEL, type Copy, type CopyFixture, type Subject, begin, makePage, walkAll } from './subject.ts'
import { toRunCount } from '../../helpers/property-runs.ts'

const makeNamed = (gtin: string, title: string, brand: string | null = null): Product =>
  makeProduct({ gtin, title, brand })

/** Return the titles that a search finds, in order. */
async function search(copy: Copy, text: string, limit = 50): Promise<(string | undefined)[]> {
  return (await copy.searchProducts(CHANNEL, text, limit)).map(({ product }) => product?.title)
}

const fold = (text: string): string =>
  text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replace(/ß/g, 'ss').trim()
const listWords = (text: string): string[] => fold(text).match(/[\p{L}\p{N}]+/gu) ?? []

/** Search by a full scan, for texts that are not digits; return the GTINs in order. */
function searchByScan(products: readonly Product[], text: string): string[] {
  const named = products.map(({ gtin, title, brand }) => ({ gtin, text: fold(`${title} ${brand ?? ''}`) }))
  const wanted = [...new Set(listWords(text))]
  const matches = named.filter(
    (one) =>
      wanted.length > 0 &&
      wanted.every((word) => listWords(one.text).some((candidate) => candidate.startsWith(word))),
  )
  if (matches.length === 0) {
    const parts = fold(text).split(/\s+/)
    return named.filter((one) => parts.every((part) => one.text.includes(part))).map(({ gtin }) => gtin)
  }
  const countExact = (candidate: string): number =>
    wanted.filter((word) => listWords(candidate).includes(word)).length
  const isFirst = (candidate: string): number => Number(candidate.startsWith(fold(text)))
  return matches
    .toSorted(
      (a, b) =>
        countExact(b.text) - countExact(a.text) ||
        isFirst(b.text) - isFirst(a.text) ||
        a.text.length - b.text.length ||
        (a.gtin < b.gtin ? -1 : 1),
    )
    .map(({ gtin }) => gtin)
}

const titles = fc
  .array(
    fc.constantFrom(
      'Lamp',
      'lampe',
      'Desk',
      'USB-C',
      'Crème',
      '桌灯',
      '100%_off',
      'Größe',
      'a',
      'ab',
      'E27/E14',
      '№5',
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((words) => words.join(' '))
const catalog = fc
  .array(fc.tuple(titles, fc.constantFrom('No', 'Lumen', 'LAMPO & Co', 'Ångström')), { maxLength: 8 })
  .map((list) => list.map(([title, brand], index) => makeNamed(toGtin(index), title, brand)))
const texts = fc
  .array(
    fc.constantFrom(
      'l',
      'lam',
      'LAMP',
      'lampe',
      'usb',
      'usb-c',
      'c',
      'sk',
      'creme',
      '灯',
      '桌',
      '%_',
      '100%',
      'e14',
      'angs',
      'grosse',
      '&',
      'nope',
      '5',
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((words) => words.join(' '))

/** Texts with special meaning in FTS5 or LIKE, and texts that no title contains. */
const HOSTILE = [
  '"',
  "'",
  '"lamp',
  'lamp"',
  'lamp*',
  '*',
  'NEAR',
  'NEAR(lamp desk)',
  'AND',
  'lamp AND',
  'NOT lamp',
  'OR',
  '-lamp',
  'words:lamp',
  'words : lamp',
  '{words}:lamp',
  '^lamp',
  '(',
  ')',
  '((lamp',
  'lamp + desk',
  'a"b"c',
  '\\',
  '%',
  '_',
  '\u0000',
  'lamp\u0000',
  '\u0000lamp',
  '\ud800',
  'lamp\udfff',
  '\u0301',
  '𞤀',
  'a𞤀b',
  '🙂',
  'ab🙂c',
  ';',
  '--',
  '/* lamp',
]

/** Test product search: words, GTINs, versions, and hostile texts. */
export function describeSearch(subject: Subject): void {
  describe(`${subject.name}: search`, () => {
    let fixture: CopyFixture
    let copy: Copy
    beforeEach(async () => {
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    test('words and starts of words - ignoring case and accents - are found, best match first, then by GTIN', async () => {
      const [crème, torch, twin, kettle] = [
        'Crème brûlée torch',
        'Torch 100%_off',
        'Torch 100%_oft',
        'Kettle',
      ]
      const list = [crème, torch, twin, kettle, 'Torchere stand', 'Big torch for a long night outside']
      await walkAll(
        copy,
        list.map((title, index) => makeNamed(toGtin(index), title, index === 0 ? 'Flambé' : null)),
        100,
      )
      expect(await search(copy, 'TORCH')).toEqual([torch, twin, crème, list[5], list[4]])
      expect(await search(copy, 'TORCH', 2)).toEqual([torch, twin])
      expect(await search(copy, 'torch creme')).toEqual([crème])
      expect(await search(copy, 'flam bru')).toEqual([crème])
      expect(await search(copy, '100%_')).toEqual([torch, twin])
      expect(await search(copy, '1_0')).toEqual([])
      expect(await search(copy, 'nothing like it')).toEqual([])
      expect(await search(copy, '')).toEqual(list)
      expect(await search(copy, ' ', 2)).toEqual([crème, torch])
    })

    test('middle of a word, language without spaces - are found only if no word starts with the text', async () => {
      const list = ['Schreibtischlampe', 'Lampe', '北欧桌灯 白色', 'AB4711C', 'Kabel 4711']
      await walkAll(
        copy,
        list.map((title, index) => makeNamed(toGtin(index), title)),
        100,
      )
      expect(await search(copy, 'lampe')).toEqual(['Lampe'])
      expect(await search(copy, 'tisch')).toEqual(['Schreibtischlampe'])
      expect(await search(copy, '北欧')).toEqual(['北欧桌灯 白色'])
      expect(await search(copy, '桌灯 白')).toEqual(['北欧桌灯 白色'])
      expect(await search(copy, '4711')).toEqual(['Kabel 4711'])
      expect(await search(copy, 'b4711')).toEqual(['AB4711C'])
    })

    test('GTIN - its start, complete, with more or fewer leading zeros, middle digits - is found', async () => {
      const gtins = ['00012345678905', '00123456789012', '04006381333931', '40063813339310']
      await walkAll(
        copy,
        gtins.map((gtin) => makeNamed(gtin, gtin)),
        100,
      )
      for (const [text, found] of [
        ['00012345678905', [gtins[0]]],
        ['012345678905', [gtins[0]]],
        ['12345678905', [gtins[0]]],
        ['1234', [gtins[0], gtins[1]]],
        ['0001', [gtins[0]]],
        ['4006381333931', [gtins[2], gtins[3]]],
        ['04006381', [gtins[2]]],
        ['0000', []],
        ['81333', [gtins[2], gtins[3]]],
        ['813339310', [gtins[3]]],
        ['99999', []],
      ] as const)
        expect([text, await search(copy, text)]).toEqual([text, found])
      expect(await search(copy, '1234', 1)).toEqual([gtins[0]])
    })

    test('versions - in a running walk, replaced, removed, looked up - only what readers see is found', async () => {
      await walkAll(copy, [makeNamed(toGtin(1), 'Old lamp'), makeNamed(toGtin(2), 'Gone lamp')], 100)
      const walk = await begin(copy, 200)
      await copy.applyPage(CHANNEL, makePage(walk, [makeNamed(toGtin(1), 'Lamp new')], { asOfMs: 200 }))
      expect(await search(copy, 'lamp')).toEqual(['Old lamp', 'Gone lamp'])
      // The invisible new version would rank first. It must not use up the limit.
      expect(await search(copy, 'new lamp', 1)).toEqual([])
      expect(await search(copy, 'lamp', 1)).toEqual(['Old lamp'])
      expect(await search(copy, 'new')).toEqual([])
      await copy.completeWalk(CHANNEL, walk, { nowMs: 200, isMalformed: false })
      expect(await search(copy, 'lamp')).toEqual(['Lamp new'])
      await copy.putLookups([
        {
          channelId: CHANNEL,
          gtin: toGtin(1),
          entry: { product: makeNamed(toGtin(1), 'Torch'), asOfMs: 300 },
        },
      ])
      expect([await search(copy, 'lamp'), await search(copy, 'tor')]).toEqual([[], ['Torch']])
      await copy.putLookups([{ channelId: CHANNEL, gtin: toGtin(1), entry: { product: null, asOfMs: 400 } }])
      expect([await search(copy, 'tor'), await search(copy, '')]).toEqual([[], []])
    })

    test('two catalogs - with the same words - each finds only its products', async () => {
      const other = await fixture.open('https://two.example')
      await walkAll(copy, [makeNamed(toGtin(1), 'Lamp one')], 100)
      await walkAll(other, [makeNamed(toGtin(1), 'Lamp')], 100)
      expect([await search(copy, 'lamp', 1), await search(other, 'lamp', 1)]).toEqual([
        ['Lamp one'],
        ['Lamp'],
      ])
    })

    test.each(HOSTILE)(
      'search text %j - is never parsed as syntax - finds titles with its letters',
      async (text) => {
        await walkAll(
          copy,
          [makeNamed(toGtin(1), 'Desk lamp'), makeNamed(toGtin(2), 'and or near not words')],
          100,
        )
        const wanted = listWords(text.toWellFormed())
        const all = ['Desk lamp', 'and or near not words']
        const plain = all.filter((title) => wanted.every((word) => title.toLowerCase().includes(word)))
        expect(await search(copy, text)).toEqual(wanted.length === 0 ? [] : plain)
      },
    )

    test('search text of thousands of characters - is truncated, and the search ends', async () => {
      await walkAll(copy, [makeNamed(toGtin(1), 'Desk lamp')], 100)
      for (const text of ['x', '"', 'a b c d e f g h i j k l m n o p ', '% ', '\u0000'])
        expect(await search(copy, text.repeat(5_000))).toEqual([])
      expect(await search(copy, 'desk lamp '.repeat(5_000))).toEqual(['Desk lamp'])
    })

    test('letters that the index treats as marks - within a word - are found', async () => {
      await walkAll(copy, [makeNamed(toGtin(1), 'ᦟᦲᧃ lamp'), makeNamed(toGtin(2), 'a\u19b5b')], 100)
      expect([await search(copy, 'ᦟᦲᧃ'), await search(copy, 'a\u19b5b')]).toEqual([
        ['ᦟᦲᧃ lamp'],
        ['a\u19b5b'],
      ])
    })

    test('search - any catalogs, one after the other, and any text - finds the same as a full scan', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.tuple(catalog, catalog, catalog),
          fc.array(texts, { minLength: 1, maxLength: 6 }),
          async ([before, now, next], list) => {
            const { dispose, open } = await subject.start()
            try {
              const store = await open('https://one.example')
              await walkAll(store, before, 100)
              await walkAll(store, now, 200)
              const walk = await begin(store, 300)
              await store.applyPage(CHANNEL, makePage(walk, next, { asOfMs: 300 }))
              for (const text of list) {
                const entries = await store.searchProducts(CHANNEL, text, 50)
                const found = entries.map(({ product }) => product?.gtin)
                expect([text, found]).toEqual([text, searchByScan(now, text)])
              }
            } finally {
              await dispose()
            }
          },
        ),
        { numRuns: toRunCount(60) },
      )
    })
  })
}
