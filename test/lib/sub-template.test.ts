import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSubSlot, fillSubs, removeSubSlots, toSubTemplate } from '../../src/lib/sub-template.ts'

const fill = (text: string, sub: string | null): string => fillSubs(toSubTemplate(text), sub)

describe('slots for the id of a placement', () => {
  test('with an id - it stands between the texts of each slot, cut to its maximum length', () => {
    const text = `a${createSubSlot('?s=')}b${createSubSlot('[', ']', 3)}${createSubSlot('')}`
    expect(fill(text, 'p1234')).toBe('a?s=p1234b[p12]p1234')
  })

  test('without an id - nothing is left of a slot', () => {
    const text = `${createSubSlot('x', 'y')}a${createSubSlot('?s=')}b`
    expect([fill(text, null), removeSubSlots(text)]).toEqual(['ab', 'ab'])
    expect(removeSubSlots('plain')).toBe('plain')
  })

  test('any texts - the id is between the same texts', () => {
    const pieces = fc.array(fc.tuple(fc.string(), fc.string(), fc.string()), { maxLength: 5 })
    fc.assert(
      fc.property(fc.string(), pieces, (first, rest) => {
        const text = first + rest.map(([before, after, next]) => createSubSlot(before, after) + next).join('')
        expect(fill(text, 'ID')).toBe(
          first + rest.map(([before, after, next]) => `${before}ID${after}${next}`).join(''),
        )
        expect(fill(text, null)).toBe(first + rest.map(([, , next]) => next).join(''))
      }),
    )
  })
})
