import { describe, expect, expectTypeOf, test } from 'vitest'
import type { z } from 'zod'
import type { WireChannel, WireOffer, WireProduct, WireProductPage } from '../../src/catalog/contract.ts'
import { ANSWERS, type AnswerName } from '../../src/catalog-service/answers.ts'
import { EXAMPLES } from '../../src/catalog-service/openapi/responses.ts'

/** A type as it is once nothing in it can be changed. */
type Lasting<T> = T extends object ? { readonly [Key in keyof T]: Lasting<T[Key]> } : T

/** What a schema of the service sends. */
type Sent<Name extends AnswerName> = Lasting<z.infer<(typeof ANSWERS)[Name]>>

const PRODUCT = EXAMPLES.Product

describe('answers', () => {
  test('schemas of the service - beside the types that both sides share - are equal to them', () => {
    expectTypeOf<Sent<'Channel'>>().toEqualTypeOf<WireChannel>()
    expectTypeOf<Sent<'Offer'>>().toEqualTypeOf<WireOffer>()
    expectTypeOf<Sent<'Product'>>().toEqualTypeOf<WireProduct>()
    expectTypeOf<Sent<'ProductPage'>>().toEqualTypeOf<WireProductPage>()
    expectTypeOf<Sent<'ChannelList'>>().toEqualTypeOf<Readonly<{ items: readonly WireChannel[] }>>()
    expectTypeOf<Sent<'Error'>>().toEqualTypeOf<Readonly<{ error: string }>>()
  })

  test.each(Object.entries(EXAMPLES))('example of %s - is one', (name, example) => {
    expect(ANSWERS[name as AnswerName].parse(example)).toEqual(example)
  })

  test.each([
    ['a field that nobody knows', { ...PRODUCT, colour: 'red' }],
    ['no offer at all', { ...PRODUCT, offers: [] }],
    ['a GTIN of 13 digits', { ...PRODUCT, gtin: PRODUCT.gtin.slice(1) }],
    ['nothing as a brand', { ...PRODUCT, brand: null }],
    ['a price that is a number', { ...PRODUCT, offers: [{ ...PRODUCT.offers[0], price: 49.9 }] }],
    ['a link of another kind', { ...PRODUCT, offers: [{ ...PRODUCT.offers[0], affiliate_url: 'ftp://a' }] }],
  ])('product with %s - is none', (_name, product) => {
    expect(ANSWERS.Product.safeParse(product).success).toBe(false)
  })
})
