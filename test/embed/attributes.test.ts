import { expectTypeOf, test } from 'vitest'
import type {
  DealGridAttributes,
  RoundUpAttributes,
  WhereToBuyAttributes,
} from '../../packages/embed/src/attributes.ts'
import type { BoxOptions, GridOptions, PicksOptions } from '../../src/widgets/options.ts'

type Values<Attributes, Name extends keyof Attributes> = NonNullable<Attributes[Name]>

test('types of attributes - have the values of the options', () => {
  expectTypeOf<Values<WhereToBuyAttributes, 'layout'>>().toEqualTypeOf<BoxOptions['layout']>()
  expectTypeOf<Values<RoundUpAttributes, 'layout'>>().toEqualTypeOf<PicksOptions['layout']>()
  expectTypeOf<Values<DealGridAttributes, 'layout'>>().toEqualTypeOf<GridOptions['layout']>()
  expectTypeOf<Values<DealGridAttributes, 'theme'>>().toEqualTypeOf<GridOptions['theme']>()
})
