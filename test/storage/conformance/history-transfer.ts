import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS } from '../../../src/clock.ts'
import type { HistoryRun } from '../../../src/storage/history-transfer.ts'
import type { StoredCopy } from '../../../src/storage/stored-copy.ts'
import { NOON_MS } from '../../helpers/harness.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import { toRunCount } from '../../helpers/property-runs.ts'
import { CHANNEL, type CopyFixture, type Subject, makeQuery, readGrid, walkAll } from './subject.ts'

const TODAY = Math.floor(NOON_MS / DAY_MS)
const GTIN = toGtin(1)
const FORMER_GTIN = toGtin(2)

/** Build a run from `from` until `until` days before today. */
const makeRun = (from: number, until: number, over: Partial<HistoryRun> = {}): HistoryRun => ({
  gtin: GTIN,
  merchantKey: 'shop',
  currency: 'EUR',
  day: TODAY - from,
  untilDay: TODAY - until,
  low: 1_000_000,
  last: 1_000_000,
  isImported: true,
  ...over,
})

/** Describe a run in days before today. */
const describeRun = ({ day, untilDay, low, last, isImported }: HistoryRun): string =>
  `${TODAY - day}-${TODAY - untilDay} ${low / 10_000}/${last === null ? 'gone' : last / 10_000} ${isImported ? 'imported' : 'own'}`

async function exportRuns(copy: StoredCopy, channelId: string = CHANNEL): Promise<readonly HistoryRun[]> {
  const all: HistoryRun[] = []
  let afterGtin: string | null = ''
  while (afterGtin !== null) {
    const { runs, untilGtin }: Awaited<ReturnType<StoredCopy['readHistoryPage']>> =
      await copy.readHistoryPage(channelId, afterGtin)
    all.push(...runs)
    afterGtin = untilGtin
  }
  return all
}

const sell = (price: string, gtin = GTIN) =>
  makeProduct({ gtin, offers: [makeParsedOffer({ merchant: 'Shop', price, oldPrice: '100.00' })] })

/** Test export and import of observed prices. */
export function describeHistoryTransfer(subject: Subject): void {
  describe(`${subject.name}: transfer of observed prices`, () => {
    let fixture: CopyFixture
    let copy: StoredCopy
    beforeEach(async () => {
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
    })
    afterEach(() => fixture.dispose())

    /** Walk some days ago: the earliest first. */
    const walk = (daysAgo: number, ...prices: readonly string[]): Promise<void> =>
      walkAll(
        copy,
        prices.map((price, index) => sell(price, toGtin(index + 1))),
        NOON_MS - daysAgo * DAY_MS,
      )
    const describeExport = async (): Promise<string[]> => (await exportRuns(copy)).map(describeRun)

    test('export - a run for each price, and none over a day without observation', async () => {
      await walk(9, '100.00')
      await walk(8, '100.00')
      await walk(6, '100.00')
      await walk(5, '80.00')
      await walk(4, '80.00')
      await walk(3, '80.00')
      await walk(2.9)
      expect(await describeExport()).toEqual([
        '9-8 100/100 own',
        '6-6 100/100 own',
        '5-4 80/80 own',
        '3-3 80/gone own',
      ])
    })

    test('export - many products - pages in the order of GTINs; an unknown channel has none', async () => {
      const gtins = Array.from({ length: 2_500 }, (_, index) => toGtin(index + 1)).sort()
      await copy.importRuns(
        CHANNEL,
        gtins.map((gtin) => makeRun(9, 5, { gtin })),
      )
      expect((await exportRuns(copy)).map(({ gtin }) => gtin)).toEqual(gtins)
      expect((await copy.readHistoryPage(CHANNEL, '')).runs.length).toBeLessThan(2_500)
      const unknownId = '952a0000-0000-4000-8000-0000000000ff'
      expect(await exportRuns(copy, unknownId)).toEqual([])
      expect(await copy.listCopiedChannels()).toEqual([CHANNEL])
    })

    test('import - empty copy - the days count as observed and imported; nothing is said of later days', async () => {
      expect(await copy.importRuns(CHANNEL, [makeRun(40, 11), makeRun(9, 5, { last: null })])).toEqual({
        imported: 2,
        old: 0,
        observed: 0,
      })
      expect(await describeExport()).toEqual(['40-11 100/100 imported', '9-5 100/gone imported'])
      expect(await copy.countObservedDays(CHANNEL)).toEqual({ all: 35, imported: 35 })
    })

    test('import - again, then other prices for some of the days - those are replaced', async () => {
      await copy.importRuns(CHANNEL, [makeRun(40, 11), makeRun(9, 5)])
      const before = await exportRuns(copy)
      await copy.importRuns(CHANNEL, [makeRun(40, 11), makeRun(9, 5)])
      expect(await exportRuns(copy)).toEqual(before)
      await copy.importRuns(CHANNEL, [makeRun(20, 8, { low: 900_000, last: 900_000 })])
      expect(await describeExport()).toEqual([
        '40-21 100/100 imported',
        '20-8 90/90 imported',
        '7-5 100/100 imported',
      ])
      await copy.importRuns(CHANNEL, [makeRun(20, 8)])
      expect(await describeExport()).toEqual(['40-5 100/100 imported'])
    })

    test('import - own observation from a day on - only earlier days are taken', async () => {
      await walk(10, '100.00')
      const low = { low: 500_000, last: 500_000 }
      expect(
        await copy.importRuns(CHANNEL, [
          makeRun(20, 5, low),
          makeRun(4, 2, low),
          makeRun(4, 2, { ...low, merchantKey: 'other' }),
        ]),
      ).toEqual({ imported: 2, old: 0, observed: 1 })
      expect((await exportRuns(copy)).map((run) => `${run.merchantKey} ${describeRun(run)}`)).toEqual([
        'other 4-2 50/50 imported',
        'shop 20-11 50/50 imported',
        'shop 10-10 100/100 own',
      ])
    })

    test('import - days before the kept ones - are left out', async () => {
      expect(await copy.importRuns(CHANNEL, [makeRun(500, 450), makeRun(420, 390)])).toEqual({
        imported: 1,
        old: 1,
        observed: 0,
      })
      expect(await describeExport()).toEqual(['399-390 100/100 imported'])
    })

    test.each(['before', 'after'])('import %s the walk - the fall is found, and lost again', async (when) => {
      const history = [makeRun(40, 1), makeRun(40, 1, { gtin: FORMER_GTIN, low: 700_000, last: 700_000 })]
      if (when === 'before') await copy.importRuns(CHANNEL, history)
      await walk(0, '80.00', '80.00')
      if (when === 'after') await copy.importRuns(CHANNEL, history)
      const deals = await copy.findDeals(makeQuery({ evidence: 'observed', sort: 'drop' }))
      expect(deals.map(({ gtin, offer }) => [gtin, offer.oldPrice])).toEqual([[GTIN, '100']])
      await copy.importRuns(CHANNEL, [makeRun(20, 10, { low: 750_000, last: 750_000 })])
      expect(await readGrid(copy, { evidence: 'observed' })).toEqual([])
      expect(await readGrid(copy)).toHaveLength(2)
    })

    test('any days - exported and imported into an empty copy - the same days', async () => {
      const moved = await fixture.open('https://two.example')
      const arbitraryRuns = fc
        .array(
          fc.record({
            gap: fc.nat(3),
            length: fc.nat(4),
            low: fc.integer({ min: 1, max: 3 }),
            last: fc.nat(3),
          }),
          {
            maxLength: 8,
          },
        )
        .map((parts) => {
          let day = TODAY - 100
          return parts.map(({ gap, length, low, last }) => {
            const from = day + gap
            day = from + length + 1
            return makeRun(TODAY - from, TODAY - day + 1, {
              low,
              last: last === 0 ? null : Math.max(low, last),
            })
          })
        })
      let channelNumber = 0
      await fc.assert(
        fc.asyncProperty(arbitraryRuns, arbitraryRuns, async (runs, otherRuns) => {
          const channelId = `952a0000-0000-4000-8000-${String((channelNumber += 1)).padStart(12, '0')}`
          const all = [...runs, ...otherRuns.map((run) => ({ ...run, merchantKey: 'other' }))]
          await copy.importRuns(channelId, all)
          const exported = await exportRuns(copy, channelId)
          await moved.importRuns(channelId, exported)
          expect(await exportRuns(moved, channelId)).toEqual(exported)
          expect(listDays(exported)).toEqual(listDays(all))
        }),
        { numRuns: toRunCount(50) },
      )
    })
  })
}

/** List each day with its prices. */
function listDays(runs: readonly HistoryRun[]): readonly string[] {
  return runs
    .flatMap(({ merchantKey, day, untilDay, low, last }) =>
      Array.from(
        { length: untilDay - day + 1 },
        (_, index) => `${merchantKey} ${day + index} ${low} ${last}`,
      ),
    )
    .sort()
}
