import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type PriceChange, listObservedDays } from '../../src/offers/price-history.ts'
import { findDueDay, pruneChanges } from '../../src/offers/price-pruning.ts'

const TODAY = 40

const price = fc.integer({ min: 1, max: 3 })
const ownChange = fc
  .record({ gap: fc.integer({ min: 1, max: 6 }), low: price, isGone: fc.boolean() })
  .map(({ gap, low, isGone }) => ({ gap, length: 0, low, last: isGone ? null : low }))
const importedRun = fc
  .record({ gap: fc.integer({ min: 1, max: 6 }), length: fc.integer({ min: 1, max: 5 }), low: price })
  .map((run) => ({ ...run, last: run.low }))

/** A series as it is stored: imported runs, then own changes. */
const series: fc.Arbitrary<readonly PriceChange[]> = fc
  .tuple(fc.array(importedRun, { maxLength: 4 }), fc.array(ownChange, { maxLength: 8 }))
  .map(([imported, own]) => {
    let nextDay = 0
    return [...imported, ...own].map(({ gap, length, low, last }) => {
      const day = nextDay + gap
      nextDay = day + length
      return { day, untilDay: length === 0 ? null : day + length - 1, low, last }
    })
  })

const listDays = (changes: readonly PriceChange[], firstDay: number) => {
  const walkedDays = Array.from({ length: TODAY + 2 }, (_, day) => day)
  return listObservedDays(changes, walkedDays).filter(({ day }) => day >= firstDay && day <= TODAY)
}

test('pruned changes - say the same about all kept days, also when more days are pruned later', () => {
  const days = fc.integer({ min: 1, max: TODAY })
  fc.assert(
    fc.property(series, days, days, (changes, one, other) => {
      const [firstDay, laterDay] = [Math.min(one, other), Math.max(one, other)]
      const known = changes.filter(({ day }) => day <= TODAY)
      const pruned = pruneChanges(known, { firstDay, today: TODAY })
      expect(listDays(pruned, firstDay)).toEqual(listDays(known, firstDay))
      const later = pruneChanges(pruned, { firstDay: laterDay, today: TODAY })
      expect(later).toEqual(pruneChanges(known, { firstDay: laterDay, today: TODAY }))
    }),
  )
})

test('day on which a change is due - is the first kept day that removes one', () => {
  fc.assert(
    fc.property(series, (changes) => {
      const dueDay = findDueDay(changes)
      const removing = Array.from({ length: 200 }, (_, day) => day).find(
        (firstDay) => pruneChanges(changes, { firstDay, today: 1_000 }).length < changes.length,
      )
      expect(dueDay).toBe(removing ?? Infinity)
    }),
  )
})

const toChange = (day: number, low: number | null, last: number | null): PriceChange => ({
  day,
  untilDay: null,
  low,
  last,
})

test('changes after tomorrow - are removed, and their prices count as not seen today', () => {
  const kept = { firstDay: 1, today: TODAY }
  const before = toChange(30, 5, 5)
  const tomorrow = toChange(TODAY + 1, 6, 6)
  expect(pruneChanges([before, tomorrow], kept)).toEqual([before, tomorrow])
  expect(pruneChanges([before, tomorrow, toChange(TODAY + 2, 7, 7)], kept)).toEqual([
    before,
    toChange(TODAY, null, null),
    tomorrow,
  ])
  expect(pruneChanges([before, toChange(TODAY, 4, 4), toChange(900, 7, 7)], kept)).toEqual([
    before,
    toChange(TODAY, 4, null),
  ])
})
