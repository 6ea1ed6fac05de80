import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS } from '../../../src/clock.ts'
import { toDay } from '../../../src/offers/price-history.ts'
import type { ClickCount, WidgetCount } from '../../../src/storage/counts.ts'
import { KEPT_COUNT_DAYS } from '../../../src/storage/count-writer.ts'
import { NOON_MS } from '../../helpers/harness.ts'
import { makeProduct, toGtin } from '../../helpers/products.ts'
import { CHANNEL, type Copy, type CopyFixture, type Subject, walkAll } from './subject.ts'

const TODAY = toDay(NOON_MS)
const PERIOD = { fromDay: TODAY - 29, untilDay: TODAY }
const CLICKS = { ...PERIOD, limit: 100 }
const LAMP = toGtin(1)
const CHAIR = toGtin(2)
/** No channel sells it. */
const INVENTED = toGtin(999)
/** Half of the share of new sub-ids: they are counted in one minute only. */
const MAX_NEW_SUBS = 1_000

/** Build a count of one shown widget without a sub-id; `over` replaces properties. */
function makeCount(over: Partial<WidgetCount> = {}): WidgetCount {
  return {
    channelId: CHANNEL,
    day: TODAY,
    gtin: LAMP,
    sub: '',
    shown: 1,
    hidden: 0,
    unavailable: 0,
    ...over,
  }
}

function makeClick(over: Partial<ClickCount> = {}): ClickCount {
  return { channelId: CHANNEL, day: TODAY, gtin: LAMP, sub: '', merchant: 'Kopje', clicks: 1, ...over }
}

/** Test that counts are added up, bounded and pruned. */
export function describeCounts(subject: Subject): void {
  describe(`${subject.name}: counts of widgets and clicks`, () => {
    let fixture: CopyFixture
    let copy: Copy
    beforeEach(async () => {
      fixture = await subject.start()
      copy = await fixture.open('https://one.example')
      await walkAll(copy, [makeProduct({ gtin: LAMP }), makeProduct({ gtin: CHAIR })], NOON_MS)
    })
    afterEach(() => fixture.dispose())

    const addWidgets = (...widgets: readonly WidgetCount[]): Promise<number> =>
      copy.addCounts({ widgets, clicks: [] })
    const addClicks = (...clicks: readonly ClickCount[]): Promise<number> =>
      copy.addCounts({ widgets: [], clicks })
    const listAsked = (from: Copy = copy) => from.listAskedProducts(CHANNEL, { ...PERIOD, limit: 100 })
    const listPlacements = (...gtins: readonly string[]) => copy.listPlacements(CHANNEL, { ...PERIOD, gtins })

    test('counts of one placement - are added up', async () => {
      await addWidgets(
        makeCount({ sub: 'post-1' }),
        makeCount({ sub: 'post-2', shown: 0, hidden: 2 }),
        makeCount({ gtin: CHAIR, unavailable: 1 }),
      )
      await addWidgets(makeCount({ sub: 'post-1', shown: 3, hidden: 1 }), makeCount({ day: TODAY - 1 }))
      expect(await listPlacements(LAMP)).toEqual([
        { gtin: LAMP, sub: 'post-1', shown: 4, hidden: 1, unavailable: 0 },
        { gtin: LAMP, sub: 'post-2', shown: 0, hidden: 2, unavailable: 0 },
        { gtin: LAMP, sub: '', shown: 1, hidden: 0, unavailable: 0 },
      ])
      expect(await listAsked()).toEqual([
        { gtin: LAMP, shown: 5, hidden: 3, unavailable: 0 },
        { gtin: CHAIR, shown: 1, hidden: 0, unavailable: 1 },
      ])
    })

    test('one placement twice in one list - is added up', async () => {
      await addWidgets(makeCount({ sub: 'a' }), makeCount({ sub: 'a', shown: 2 }))
      expect(await listPlacements(LAMP)).toMatchObject([{ sub: 'a', shown: 3 }])
    })

    test('clicks - are added up by product, merchant and placement', async () => {
      await addClicks(makeClick({ sub: 'a' }), makeClick({ merchant: 'Tafelrond', clicks: 4 }))
      await addClicks(makeClick({ sub: 'a', clicks: 2 }), makeClick({ gtin: CHAIR }))
      expect(await copy.listClicks(CHANNEL, CLICKS)).toEqual([
        { gtin: LAMP, merchant: 'Tafelrond', sub: '', clicks: 4 },
        { gtin: LAMP, merchant: 'Kopje', sub: 'a', clicks: 3 },
        { gtin: CHAIR, merchant: 'Kopje', sub: '', clicks: 1 },
      ])
      expect(await copy.listClicks(CHANNEL, { ...PERIOD, limit: 1 })).toMatchObject([
        { merchant: 'Tafelrond' },
      ])
      const sumBy = (by: 'gtin' | 'sub', ...keys: readonly string[]) =>
        copy.sumClicks(CHANNEL, { ...PERIOD, by, keys })
      expect(await sumBy('gtin', LAMP)).toEqual(
        new Map([
          [LAMP, 7],
          [null, 1],
        ]),
      )
      expect(await sumBy('sub', '', 'a', 'b')).toEqual(
        new Map([
          ['', 5],
          ['a', 3],
        ]),
      )
    })

    test('days outside the period - are not listed, but the last day with an offer is found', async () => {
      await addWidgets(makeCount({ day: TODAY - 40 }), makeCount({ day: TODAY - 31, shown: 0, hidden: 1 }))
      await addClicks(makeClick({ day: TODAY - 30 }))
      expect(await listAsked()).toEqual([])
      expect(await listPlacements(LAMP)).toEqual([])
      expect(await copy.listClicks(CHANNEL, CLICKS)).toEqual([])
      expect([...(await copy.findLastShownDays(CHANNEL, [LAMP, CHAIR]))]).toEqual([[LAMP, TODAY - 40]])
    })

    test('product that no shop of the channel ever sold - creates no row', async () => {
      expect(await addWidgets(makeCount({ gtin: INVENTED, shown: 0, hidden: 5 }))).toBe(0)
      await addClicks(makeClick({ gtin: INVENTED }))
      await addWidgets(makeCount({ channelId: '952a0000-0000-4000-8000-00000000ffff' }))
      expect(await listAsked()).toEqual([])
      expect(await copy.listClicks(CHANNEL, CLICKS)).toEqual([])
    })

    test('product that was counted and has vanished - is still counted', async () => {
      await addWidgets(makeCount())
      await walkAll(copy, [makeProduct({ gtin: CHAIR })], NOON_MS + 1)
      await addWidgets(makeCount({ shown: 0, hidden: 2 }))
      expect(await listAsked()).toEqual([{ gtin: LAMP, shown: 1, hidden: 2, unavailable: 0 }])
      expect([...(await copy.findProducts(CHANNEL, [LAMP, CHAIR])).keys()]).toEqual([CHAIR])
    })

    test('product that a look-up did not find - is not found', async () => {
      await copy.putLookups([
        { channelId: CHANNEL, gtin: LAMP, entry: { product: null, asOfMs: NOON_MS + 1 } },
      ])
      expect([...(await copy.findProducts(CHANNEL, [LAMP, CHAIR, INVENTED])).keys()]).toEqual([CHAIR])
    })

    test('more new sub-ids than a day has room for - the rest is added without a sub-id, and totals stay', async () => {
      const makeSubs = (from: number, to: number): readonly WidgetCount[] =>
        Array.from({ length: to - from }, (_, index) => makeCount({ sub: `post-${from + index}` }))
      expect(await addWidgets(...makeSubs(0, MAX_NEW_SUBS - 1))).toBe(0)
      expect(await addWidgets(...makeSubs(MAX_NEW_SUBS - 1, MAX_NEW_SUBS + 4))).toBe(4)
      expect(await addClicks(makeClick({ sub: 'post-0' }), makeClick({ sub: 'other', clicks: 2 }))).toBe(2)
      expect(
        await addWidgets(makeCount({ sub: 'post-0' }), makeCount({ sub: 'other', day: TODAY - 1 })),
      ).toBe(0)
      const placements = await listPlacements(LAMP)
      expect(placements).toHaveLength(MAX_NEW_SUBS + 2)
      expect(placements.slice(0, 2)).toMatchObject([
        { sub: '', shown: 4 },
        { sub: 'post-0', shown: 2 },
      ])
      expect(await listAsked()).toMatchObject([{ shown: MAX_NEW_SUBS + 6 }])
      expect(await copy.listClicks(CHANNEL, CLICKS)).toMatchObject([
        { sub: '', clicks: 2 },
        { sub: 'post-0', clicks: 1 },
      ])
    })

    test('sub-id with a box on an earlier day - is kept on a day full of new ones', async () => {
      await addWidgets(makeCount({ day: TODAY - 9, sub: 'article' }))
      const invented = Array.from({ length: MAX_NEW_SUBS + 9 }, (_, index) => makeCount({ sub: `x${index}` }))
      expect(await addWidgets(...invented)).toBe(9)
      expect(await addWidgets(makeCount({ sub: 'article' }), makeCount({ sub: 'x-more' }))).toBe(1)
      expect(await addClicks(makeClick({ sub: 'article' }), makeClick({ sub: 'x-more' }))).toBe(1)
      expect(await copy.listClicks(CHANNEL, CLICKS)).toMatchObject([{ sub: '' }, { sub: 'article' }])
    })

    test('days that are no longer kept - are deleted a few rows at a time', async () => {
      const oldDay = TODAY - KEPT_COUNT_DAYS
      const widgets = Array.from({ length: 1_100 }, (_, index) =>
        makeCount({
          day: oldDay,
          sub: `s${index % MAX_NEW_SUBS}`,
          gtin: index < MAX_NEW_SUBS ? LAMP : CHAIR,
        }),
      )
      fixture.clock.step(-KEPT_COUNT_DAYS * DAY_MS)
      await copy.addCounts({ widgets, clicks: [makeClick({ day: oldDay })] })
      fixture.clock.step(KEPT_COUNT_DAYS * DAY_MS)
      await addWidgets(makeCount({ day: oldDay + 1, sub: 'next' }))
      const countRows = async (): Promise<number> =>
        (await copy.listPlacements(CHANNEL, { fromDay: oldDay, untilDay: TODAY, gtins: [LAMP, CHAIR] }))
          .length
      expect(await countRows()).toBe(601)
      await addWidgets(makeCount({ day: oldDay + 1, sub: 'next' }))
      expect(await countRows()).toBe(101)
      await addWidgets(makeCount({ sub: 'now' }))
      expect(await countRows()).toBe(2)
      await addWidgets(makeCount({ sub: 'now' }))
      fixture.clock.advance(DAY_MS)
      await addWidgets(makeCount({ sub: 'now' }))
      expect(await listPlacements(LAMP)).toMatchObject([{ sub: 'now', shown: 3 }])
      expect(await countRows()).toBe(1)
    })

    test('two catalogs in one database - have their own counts', async () => {
      const other = await fixture.open('https://two.example')
      await walkAll(other, [makeProduct({ gtin: LAMP })], NOON_MS)
      await addWidgets(makeCount())
      expect(await listAsked(other)).toEqual([])
    })

    if (!subject.isShared) return

    test('two processes - add to the same counts and respect one bound', async () => {
      const other = await fixture.open('https://one.example')
      for (const [index, store] of [copy, other, copy, other].entries())
        await store.addCounts({
          widgets: [makeCount({ sub: 'a' }), makeCount({ sub: `s${index}` })],
          clicks: [makeClick()],
        })
      expect(await listPlacements(LAMP)).toMatchObject([{ sub: 'a', shown: 4 }, {}, {}, {}, {}])
      expect(await copy.listClicks(CHANNEL, CLICKS)).toMatchObject([{ clicks: 4 }])
    })
  })
}
