import { expect, onTestFinished, test } from 'vitest'
import { toDay } from '../../src/offers/price-history.ts'
import { openCopyDatabase } from '../../src/storage/copy-database.ts'
import type { WidgetCount } from '../../src/storage/counts.ts'
import { createCountWriter } from '../../src/storage/sql-coverage.ts'
import { openSqlStore } from '../../src/storage/sql-store.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL, walkAll } from './conformance/subject.ts'

const TODAY = toDay(NOON_MS)

test('more rows than a day has room for - the rest is added without a sub-id; known rows go on', async () => {
  const { path, remove } = await makeCopyFile()
  const address = { kind: 'sqlite', path } as const
  const clock = createFakeClock(NOON_MS)
  const store = await openSqlStore({ database: address, catalog: 'c', clock })
  const { writer, close } = await openCopyDatabase(address)
  onTestFinished(async () => {
    await close()
    await store.close()
    await remove()
  })
  await walkAll(store, [makeProduct({ gtin: toGtin(1) }), makeProduct({ gtin: toGtin(2) })], NOON_MS)
  const addCounts = createCountWriter(writer, 'c', { clock, bounds: { maxSubs: 10, maxSubRows: 3 } })
  const makeCount = (index: number, sub: string): WidgetCount => ({
    channelId: CHANNEL,
    day: TODAY,
    gtin: toGtin(index),
    sub,
    shown: 0,
    hidden: 2,
    unavailable: 1,
  })
  const widgets = [makeCount(1, ''), makeCount(1, 'a'), makeCount(1, 'b'), makeCount(2, 'a')]
  expect(await addCounts({ widgets, clicks: [] })).toBe(0)
  expect(await addCounts({ widgets: [makeCount(2, 'b'), makeCount(1, 'a')], clicks: [] })).toBe(3)
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
