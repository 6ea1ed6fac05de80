import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dispatchClick } from '../../src/browser/click-event.ts'
import { toRunCount } from '../helpers/property-runs.ts'

const GOOD = { merchant: 'Kopje', gtin: '09520001001024', position: 2, sub: 'p123' }

const isShort = (text: unknown): boolean => typeof text === 'string' && text.length <= 200

/** Return the details of the events that a message causes. */
function listDetails(message: Readonly<Record<string, unknown>>): readonly unknown[] {
  const target = new EventTarget()
  const details: unknown[] = []
  target.addEventListener('vitrine:click', (event) => details.push((event as CustomEvent<unknown>).detail))
  const { merchant, gtin, position, sub, ...others } = message
  dispatchClick(target, { merchant, gtin, position, sub, ...others })
  return details
}

describe('event of a click', () => {
  test.each([
    ['a click', GOOD, GOOD],
    ['no placement', { ...GOOD, sub: null }, { ...GOOD, sub: null }],
    ['a placement that is missing', { ...GOOD, sub: undefined }, { ...GOOD, sub: null }],
    ['other properties', { ...GOOD, vitrine: 1, type: 'click', href: 'x' }, GOOD],
  ])('%s - has the four properties', (_case, message, detail) => {
    expect(listDetails(message)).toEqual([detail])
  })

  test('the event - bubbles out of a shadow root, and cannot be cancelled', () => {
    const target = new EventTarget()
    const seen: unknown[] = []
    target.addEventListener('vitrine:click', ({ bubbles, composed, cancelable }) =>
      seen.push({ bubbles, composed, cancelable }),
    )
    dispatchClick(target, GOOD)
    expect(seen).toEqual([{ bubbles: true, composed: true, cancelable: false }])
  })

  test('any message - causes an event only with short texts and a whole number', () => {
    const value = fc.oneof(
      fc.constantFrom(...Object.values(GOOD), null, undefined, [], {}, NaN, 1.5, Infinity, 'x'.repeat(201)),
      fc.anything(),
    )
    const messages = fc.record({ merchant: value, gtin: value, position: value, sub: value })
    fc.assert(
      fc.property(messages, (message) => {
        const { merchant, gtin, position, sub } = message
        const isValid = isShort(merchant) && isShort(gtin) && Number.isInteger(position) && isShort(sub ?? '')
        expect(listDetails(message)).toEqual(isValid ? [{ merchant, gtin, position, sub: sub ?? null }] : [])
      }),
      { numRuns: toRunCount(500) },
    )
  })
})
