import { expect, onTestFinished, test } from 'vitest'
import { MINUTE_MS } from '../../src/clock.ts'
import { toDay } from '../../src/offers/price-history.ts'
import { openCopyDatabase } from '../../src/storage/copy-database.ts'
import type { WidgetCount } from '../../src/storage/counts.ts'
import { type CountBounds, createCountWriter } from '../../src/storage/count-writer.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL, walkAll } from './conformance/subject.ts'
import { connect } from '../helpers/connect.ts'

const TODAY = toDay(NOON_MS)

const ROOM: CountBounds = { maxSubs: 10, maxSubRows: 10, maxNewSubs: 20, maxNewSubRows: 20 }

function makeCount(index: number, sub: string, day = TODAY): WidgetCount {
  return { channelId: CHANNEL, day, gtin: toGtin(index), sub, shown: 0, hidden: 2, unavailable: 1 }
}

async function openCounts(bounds: Partial<CountBounds>) {
  const { path, remove } = await makeCopyFile()
  const address = { kind: 'sqlite', path } as const
  const clock = createFakeClock(NOON_MS)
  const store = await openStoredCopy({ database: address, catalog: 'c', clock })
  const { writer, close } = await openCopyDatabase(address)
  onTestFinished(async () => {
    await close()
    await store.close()
    await remove()
  })
  await walkAll(store, [makeProduct({ gtin: toGtin(1) }), makeProduct({ gtin: toGtin(2) })], NOON_MS)
  const addCounts = createCountWriter(await connect(writer), 'c', {
    clock,
    bounds: Object.assign({}, ROOM, bounds),
  })
  return {
    store,
    clock,
    addWidgets: (...widgets: readonly WidgetCount[]) => addCounts({ widgets, clicks: [] }),
  }
}

test('more rows than a day has room for - the rest is added without a sub-id; known rows go on', async () => {
  const { store, addWidgets } = await openCounts({ maxSubRows: 3 })
  expect(await addWidgets(makeCount(1, ''), makeCount(1, 'a'), makeCount(1, 'b'), makeCount(2, 'a'))).toBe(0)
  expect(await addWidgets(makeCount(2, 'b'), makeCount(1, 'a'))).toBe(3)
  const period = { fromDay: TODAY, untilDay: TODAY }
  const placements = await store.listPlacements(CHANNEL, { ...period, gtins: [toGtin(1), toGtin(2)] })
  expect(placements.map(({ gtin, sub, hidden }) => [gtin, sub, hidden])).toEqual([
    [toGtin(1), 'a', 4],
    [toGtin(1), '', 2],
    [toGtin(1), 'b', 2],
    [toGtin(2), '', 2],
    [toGtin(2), 'a', 2],
  ])
})

test('more rows of new sub-ids than their share - those of earlier days have the rest of the day', async () => {
  const { addWidgets } = await openCounts({ maxSubRows: 4, maxNewSubRows: 4 })
  await addWidgets(makeCount(1, 'article', TODAY - 1))
  expect(await addWidgets(makeCount(1, 'a'), makeCount(2, 'a'), makeCount(1, 'b'))).toBe(3)
  expect(await addWidgets(makeCount(1, 'article'), makeCount(2, 'article'))).toBe(0)
})

test('more sub-ids of earlier days than a day has room for - the rest is added without a sub-id', async () => {
  const { addWidgets } = await openCounts({ maxSubs: 2, maxNewSubs: 2 })
  const subs = ['a', 'b', 'c']
  for (const [index, sub] of subs.entries()) await addWidgets(makeCount(1, sub, TODAY - 1 - index))
  expect(await addWidgets(...subs.map((sub) => makeCount(1, sub)), makeCount(2, 'a'))).toBe(3)
})

test('half of the share of new sub-ids is used up - only those counted in three different minutes have the rest', async () => {
  const { clock, addWidgets } = await openCounts({ maxSubs: 99, maxSubRows: 99, maxNewSubRows: 8 })
  const addRoundUp = (sub: string): Promise<number> => addWidgets(makeCount(1, sub), makeCount(2, sub))
  expect([await addRoundUp('invented-1'), await addRoundUp('invented-2')]).toEqual([0, 0])
  const lost = { article: [0], invented: [0] }
  for (let minute = 0; minute < 4; minute += 1) {
    lost.article.push((await addRoundUp('article')) + (await addRoundUp('article')))
    lost.invented.push(await addRoundUp(`invented-of-${minute}`))
    clock.advance(MINUTE_MS)
  }
  expect(lost).toEqual({ article: [0, 12, 12, 0, 0], invented: [0, 6, 6, 6, 6] })
  for (let minute = 0; minute < 3; minute += 1) {
    await addRoundUp('article-2')
    lost.article.push(await addRoundUp('article-3'))
    clock.advance(MINUTE_MS)
  }
  expect(lost.article.slice(5)).toEqual([6, 6, 6])
  expect(await addRoundUp('article')).toBe(0)
})
