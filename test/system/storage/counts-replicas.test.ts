import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { toDay } from '../../../src/offers/price-history.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import { NOON_MS } from '../../helpers/harness.ts'
import { makeProduct, toGtin } from '../../helpers/products.ts'
import { ALLOWED_COUNT_COLUMNS } from '../../storage/conformance/count-columns.ts'
import { CHANNEL, type Copy, walkAll } from '../../storage/conformance/subject.ts'
import { useDatabase } from '../use-database.ts'

const ROUNDS = 40
/** Half of the share of new sub-ids: they are counted in one minute only. */
const MAX_NEW_SUBS = 1_000
const TODAY = toDay(NOON_MS)
const PERIOD = { fromDay: TODAY, untilDay: TODAY }
const CLICKS = { ...PERIOD, limit: 100 }

const database = useDatabase()
beforeEach(() => database.truncate())

async function open(): Promise<Copy> {
  const copy = await openStoredCopy({ database: database.address, catalog: 'c' })
  onTestFinished(() => copy.close())
  return copy
}

const makeCount = (index: number, sub: string, day = TODAY) => ({
  channelId: CHANNEL,
  day,
  gtin: toGtin(index),
  sub,
  shown: 1,
  hidden: 0,
  unavailable: 0,
})

test('three machines that add the same counts at once, in different orders - lose and double none', async () => {
  const stores = [await open(), await open(), await open()]
  await walkAll(
    stores[0] as Copy,
    [makeProduct({ gtin: toGtin(1) }), makeProduct({ gtin: toGtin(2) })],
    NOON_MS,
  )
  const widgets = [makeCount(1, 'a'), makeCount(2, 'a'), makeCount(1, 'b', TODAY - 1), makeCount(2, '')]
  const clicks = [{ channelId: CHANNEL, day: TODAY, gtin: toGtin(1), sub: 'a', merchant: 'Kopje', clicks: 1 }]
  await Promise.all(
    stores.flatMap((store, index) =>
      Array.from({ length: ROUNDS }, () =>
        store.addCounts({ widgets: index === 1 ? widgets.toReversed() : widgets, clicks }),
      ),
    ),
  )
  const all = 3 * ROUNDS
  expect(await stores[0]?.listAskedProducts(CHANNEL, { ...PERIOD, limit: 10 })).toMatchObject([
    { gtin: toGtin(2), shown: 2 * all },
    { gtin: toGtin(1), shown: all },
  ])
  expect(await stores[0]?.listClicks(CHANNEL, CLICKS)).toMatchObject([{ clicks: all }])
})

/** Add 1,500 counts, each with its own sub-id. */
async function addSubs(store: Copy, prefix: string): Promise<void> {
  for (let from = 0; from < 1_500; from += 500) {
    const widgets = Array.from({ length: 500 }, (_, index) => makeCount(1, `${prefix}${from + index}`))
    await store.addCounts({ widgets, clicks: [] })
  }
}

test('two machines that together have more sub-ids than a day has room for - respect the bound', async () => {
  const [one, other] = [await open(), await open()]
  await walkAll(one, [makeProduct({ gtin: toGtin(1) })], NOON_MS)
  await Promise.all([addSubs(one, 'a'), addSubs(other, 'b')])
  const placements = await one.listPlacements(CHANNEL, { ...PERIOD, gtins: [toGtin(1)] })
  expect(placements).toHaveLength(MAX_NEW_SUBS + 1)
  expect(placements[0]).toMatchObject({ sub: '', shown: 3_000 - MAX_NEW_SUBS })
})

test('tables of counts in PostgreSQL - have no column that could hold anything about a visitor', async () => {
  const rows = await database.run(`select table_name || '.' || column_name as name
    from information_schema.columns where table_schema = 'vitrine_copy'
    and (table_name like '%count%' or table_name like '%click%')`)
  expect(rows.map(({ name }) => String(name)).sort()).toEqual(ALLOWED_COUNT_COLUMNS)
})
