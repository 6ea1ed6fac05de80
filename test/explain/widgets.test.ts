import { describe, expect, test } from 'vitest'
import { createShopBook } from '../../src/offers/shop-book.ts'
import { HOUR_MS } from '../../src/clock.ts'
import { parseConfig } from '../../src/config/config.ts'
import type { BoxInputs } from '../../src/explain/inputs.ts'
import type { ExplainRules } from '../../src/explain/offers.ts'
import { type ExplanationView, explainBoxProducts, explainPicks } from '../../src/explain/widgets.ts'
import { parseBoxOptions, parsePicksOptions } from '../../src/widgets/options.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL, WALKED_COPY } from '../helpers/studio-view.ts'

const DEFAULTS = { locale: 'en', currency: null }

const toRules = (options: ExplainRules['options']): ExplainRules => ({
  options,
  defaults: DEFAULTS,
  ignoredParameters: [],
  config: parseConfig({}).config,
  shops: createShopBook([]),
  observedPrices: null,
  nowMs: NOON_MS,
})
const parseBox = (query: string): ExplainRules =>
  toRules(parseBoxOptions(new URLSearchParams(query), DEFAULTS, 'fragment'))
const parsePicks = (query: string): ExplainRules =>
  toRules(parsePicksOptions(new URLSearchParams(query), DEFAULTS, 'fragment'))

/** Inputs for a product with an offer of each availability; without any: a shop of the complete copy sells it no more. */
function makeInputs(index: number, availabilities: readonly ('in_stock' | 'sold_out')[]): BoxInputs {
  const offers = availabilities.map((availability, place) =>
    makeParsedOffer({ availability, merchant: `Shop ${place}` }),
  )
  const product = makeProduct({ gtin: toGtin(index), title: `Lamp ${index}`, offers })
  return {
    channelId: CHANNEL.id,
    gtin: toGtin(index),
    list: { asOfMs: NOON_MS, heldSinceMs: null, channels: [CHANNEL], gone: [] },
    state: WALKED_COPY,
    entry: availabilities.length === 0 ? undefined : { product, asOfMs: NOON_MS },
    malformed: undefined,
    isCopyComplete: true,
    catalog: { kind: 'skipped', reason: 'a test' },
  }
}

const SOLD = (index: number): BoxInputs => makeInputs(index, ['in_stock', 'in_stock'])
const SOLD_OUT = (index: number): BoxInputs => makeInputs(index, ['sold_out'])
const UNSOLD = (index: number): BoxInputs => makeInputs(index, [])
/** Neither the copy nor the catalog says anything about it. */
const UNKNOWN = (index: number): BoxInputs => ({ ...makeInputs(index, []), isCopyComplete: false })

const listOutcomes = ({ products }: ExplanationView): string[] =>
  products.map(({ role, isShown, outcome }) => `${role}${isShown ? ' shown' : ''}: ${outcome}`)

describe('box', () => {
  test('one product - its own explanation, without a list of products', () => {
    const view = explainBoxProducts({ variants: [SOLD(1)], standIns: [] }, parseBox(''))
    expect([view.summary, view.products, view.offers.length]).toEqual(['A box is shown: 2 offers.', [], 2])
  })

  test('variants - the first with offers is shown, the others below it', () => {
    const view = explainBoxProducts(
      { variants: [UNSOLD(1), SOLD(2), SOLD_OUT(3)], standIns: [SOLD(4)] },
      parseBox(''),
    )
    expect(view).toMatchObject({
      isShown: true,
      summary: 'A box is shown: 2 offers of Lamp 2, the first variant with an offer to show.',
      remedy: null,
      offers: [],
    })
    expect(listOutcomes(view)).toEqual([
      expect.stringMatching(/^product: not shown\. No shop of this channel sells this product/),
      'variant shown: shown, because it is the first with an offer to show: 2 offers',
      'variant shown: shown below the first one: 1 offer',
      'stand-in: not needed: the product or a variant is shown',
    ])
    expect(view.facts.map(({ label }) => label)).toEqual(['Channel', 'Stored copy of the channel', 'Filters'])
    expect(view.products[1]?.facts.map(({ label }) => label)).toEqual([
      'GTIN',
      'Product in the copy',
      'Catalog now',
    ])
  })

  test('an option hides the first variant - the next one is shown', () => {
    const inputs = { variants: [SOLD_OUT(1), SOLD(2)], standIns: [] }
    const all = explainBoxProducts(inputs, parseBox(''))
    expect(all.summary).toBe('A box is shown: 1 offer of Lamp 1.')
    const inStock = explainBoxProducts(inputs, parseBox('stock=in'))
    expect(listOutcomes(inStock)[0]).toBe(
      'product: not shown. The option stock=in hides the only offer of this product.',
    )
    // The page of the studio replaces texts, so their number is the same with every option.
    expect(inStock.products.map(({ offers }) => offers.length)).toEqual(
      all.products.map(({ offers }) => offers.length),
    )
  })

  test('layout inline - shows one product', () => {
    const view = explainBoxProducts({ variants: [SOLD(1), SOLD(2)], standIns: [] }, parseBox('layout=inline'))
    expect(listOutcomes(view)[1]).toBe('variant: not shown: the layout inline shows one product')
  })

  test('layout inline - a product whose prices are too old is not the first, as in a response', () => {
    const old = SOLD(1)
    const entry = old.entry && { ...old.entry, asOfMs: NOON_MS - 25 * HOUR_MS }
    const view = explainBoxProducts(
      { variants: [{ ...old, entry }, SOLD(2)], standIns: [] },
      parseBox('layout=inline'),
    )
    expect(listOutcomes(view)).toEqual([
      'product: not shown. The layout inline shows one price, and no offer that the options allow is in stock with a current price.',
      'variant shown: shown, because it is the first with an offer to show: 1 offer',
    ])
  })

  test('shop of the shop file - the options mean all its names, and are named as in the address', () => {
    const shop = { name: 'Kestrel Row', logoPath: null, terms: null }
    const shops = createShopBook([{ merchant: 'Shop 0', aliases: ['shop 1'], shop }])
    const explain = (query: string): ExplanationView =>
      explainBoxProducts({ variants: [SOLD(1)], standIns: [] }, { ...parseBox(query), shops })
    expect(explain('merchant=Kestrel+Row').summary).toBe('A box is shown: 1 offer.')
    const { summary, facts, offers } = explain('exclude=Kestrel+Row')
    expect(summary).toBe(
      'Nothing is shown. The option exclude=kestrel row hides all 2 offers of this product. Its shops: Kestrel Row.',
    )
    expect(facts.find(({ label }) => label === 'Filters')?.value).toBe('exclude=kestrel row')
    expect(offers.map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 2 }, () => 'left out by exclude=kestrel row'),
    )
  })

  test('no shop sells the product - the first stand-in with offers is shown, and named as such', () => {
    const view = explainBoxProducts(
      { variants: [UNSOLD(1)], standIns: [UNSOLD(2), SOLD(3), SOLD(4)] },
      parseBox(''),
    )
    expect(view.summary).toBe(`A box is shown: 2 offers of Lamp 3, which stands in for ${toGtin(1)}.`)
    expect(listOutcomes(view).map((text) => text.replace(/\. No shop.*/, '.'))).toEqual([
      'product: not shown.',
      'stand-in: not shown.',
      'stand-in shown: shown instead, because it is the first stand-in with an offer to show: 2 offers',
      'stand-in: not needed: another stand-in is shown',
    ])
  })

  test('unknown product - nothing stands in for it', () => {
    const view = explainBoxProducts({ variants: [UNKNOWN(1)], standIns: [SOLD(2)] }, parseBox(''))
    expect(view.isShown).toBe(false)
    expect(listOutcomes(view)[1]).toBe(
      'stand-in: not used: the catalog did not respond, so a shop may sell the product itself',
    )
  })

  test('channel that is not served - one reason for all products, with its remedy', () => {
    const inputs = [SOLD(1), SOLD(2)].map((one) => ({ ...one, channelId: 'x' }))
    const view = explainBoxProducts({ variants: inputs, standIns: [] }, parseBox(''))
    expect(view.summary).toBe('Nothing is shown. The catalog lists no channel with this id.')
    expect(view.remedy).toContain('Use a listed channel')
  })

  test('different reasons - the summary refers to those of the products', () => {
    const view = explainBoxProducts(
      { variants: [UNSOLD(1), SOLD_OUT(2)], standIns: [] },
      parseBox('stock=in'),
    )
    expect([view.isShown, view.summary, view.remedy]).toEqual([
      false,
      'Nothing is shown. The reason of each product is below.',
      null,
    ])
  })
})

describe('round-up', () => {
  test('some products hidden - each has its number and outcome, and a remedy', () => {
    const view = explainPicks([SOLD(1), UNSOLD(2), SOLD_OUT(3)], parsePicks(''))
    expect([view.isShown, view.summary]).toEqual([
      true,
      'A round-up is shown: 2 of 3 products, in your order.',
    ])
    expect(listOutcomes(view)).toEqual([
      'number 1 shown: shown with 2 offers',
      expect.stringMatching(/^number 2: not shown\. No shop/),
      'number 3 shown: shown with 1 offer',
    ])
    expect(view.products.map(({ remedy }) => remedy === null)).toEqual([true, false, true])
  })

  test('all hidden by an option - nothing is shown', () => {
    const view = explainPicks([SOLD_OUT(1), SOLD_OUT(2)], parsePicks('stock=in'))
    expect(view.summary).toBe('Nothing is shown. The reason of each product is below.')
  })
})
