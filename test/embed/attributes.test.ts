import { readFile } from 'node:fs/promises'
import { expect, expectTypeOf, test } from 'vitest'
import type {
  DealGridAttributes,
  RoundUpAttributes,
  WhereToBuyAttributes,
} from '../../packages/embed/src/attributes.ts'
import type { DEAL_SORTS, EVIDENCES } from '../../src/offers/deals.ts'
import {
  type BoxLayout,
  type GridLayout,
  type HEADS,
  type HISTORIES,
  OPTION_LIST,
  type PicksLayout,
  type STOCKS,
  type Theme,
} from '../../src/widgets/option-list.ts'

/** Attributes that are no options. */
const OTHERS = new Set(['server', 'channel', 'height', 'title', 'gtin', 'gtins'])

type Values<Attributes, Name extends keyof Attributes> = NonNullable<Attributes[Name]>

test.each([
  ['CommonAttributes', 'all'],
  ['WhereToBuyAttributes', 'where-to-buy'],
  ['RoundUpAttributes', 'picks'],
  ['DealGridAttributes', 'deals'],
])('%s - are the options of frames', async (type, widget) => {
  const source = await readFile(new URL('../../packages/embed/src/attributes.ts', import.meta.url), 'utf8')
  const [body = ''] = source.split(`export type ${type} =`)[1]?.split('}>') ?? []
  const names = [...body.matchAll(/^ +(\w+)\??: /gm)].map(([, name = '']) => name)
  const options = OPTION_LIST.filter((row) => row.widget === widget && row.isFragmentOnly !== true)
  expect(new Set(names.filter((name) => !OTHERS.has(name)))).toEqual(new Set(options.map(({ name }) => name)))
})

test('types of attributes - have the values of the options', () => {
  expectTypeOf<Values<WhereToBuyAttributes, 'layout'>>().toEqualTypeOf<BoxLayout>()
  expectTypeOf<Values<RoundUpAttributes, 'layout'>>().toEqualTypeOf<PicksLayout>()
  expectTypeOf<Values<DealGridAttributes, 'layout'>>().toEqualTypeOf<GridLayout>()
  expectTypeOf<Values<DealGridAttributes, 'theme'>>().toEqualTypeOf<Theme>()
  expectTypeOf<Values<DealGridAttributes, 'head'>>().toEqualTypeOf<(typeof HEADS)[number]>()
  expectTypeOf<Values<DealGridAttributes, 'stock'>>().toEqualTypeOf<(typeof STOCKS)[number]>()
  expectTypeOf<Values<WhereToBuyAttributes, 'history'>>().toEqualTypeOf<(typeof HISTORIES)[number]>()
  expectTypeOf<Values<DealGridAttributes, 'sort'>>().toEqualTypeOf<(typeof DEAL_SORTS)[number]>()
  expectTypeOf<Values<DealGridAttributes, 'evidence'>>().toEqualTypeOf<(typeof EVIDENCES)[number]>()
})
