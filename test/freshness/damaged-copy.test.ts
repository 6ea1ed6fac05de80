import { expect, test } from 'vitest'
import { StoreError } from '../../src/errors.ts'
import { walkAll } from '../storage/conformance/subject.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeProduct, toGtin } from '../helpers/products.ts'
import { makeSources, openStore, setOutcome } from './sources-fixture.ts'

const findProduct = (): Promise<never> => Promise.reject(new StoreError('a page is damaged'))

test.each([
  ['responds', 'from the catalog'],
  ['500', 'VITRINE_UNAVAILABLE'],
] as const)(
  'complete copy with an unreadable product - does not hide the product: catalog %s - %s',
  async (outcome, end) => {
    const whole = await openStore()
    await walkAll(whole, [makeProduct({ gtin: toGtin(1) })], NOON_MS)
    const sources = await makeSources({ store: { ...whole, findProduct } })
    setOutcome(sources.catalog, outcome, toGtin(1))
    const shown = await sources.getProduct(toGtin(1)).then(
      ({ value }) => value?.title ?? 'hidden',
      (error: { code: string }) => error.code,
    )
    expect(shown).toBe(end)
  },
)
