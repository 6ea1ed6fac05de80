import { beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { type Environment, parseConfig } from '../../src/config/config.ts'
import { toDay } from '../../src/offers/price-history.ts'
import type { ClickCount, WidgetCount } from '../../src/storage/counts.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import { CHANNEL_ID, type FakeCatalog, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import { type CommandResult, makeFolder, runInProcess, startRemoteCatalog } from './run-cli.ts'

const TODAY = toDay(systemClock.nowMs())
const [LAMP, CHAIR, SHELF] = [toGtin(1), toGtin(2), toGtin(3)]
const isoToday = new Date(systemClock.nowMs()).toISOString().slice(0, 10)

const lamp = makeWireProduct({ gtin: LAMP, title: '=HYPERLINK("x"), "lamp"' })
const chair = makeWireProduct({ gtin: CHAIR, title: 'Chair' })
const shelf = makeWireProduct({
  gtin: SHELF,
  title: 'Shelf',
  offers: [makeWireOffer(), makeWireOffer({ merchant: { name: 'Tafelrond' } })],
})

let settings: Environment
let catalog: FakeCatalog
beforeEach(async () => {
  const started = await startRemoteCatalog(makeFolder())
  settings = started.settings
  catalog = started.catalog
})

const run = (...args: string[]): Promise<CommandResult> => runInProcess(args, settings)

async function addCounts(
  widgets: readonly Partial<WidgetCount>[],
  clicks: readonly Partial<ClickCount>[] = [],
) {
  const { config } = parseConfig(settings)
  const store = await openStoredCopy({ database: config.database, catalog: catalog.url })
  const key = { channelId: CHANNEL_ID, day: TODAY, gtin: LAMP, sub: '' }
  await store.addCounts({
    widgets: widgets.map((count) => ({ ...key, shown: 1, hidden: 0, unavailable: 0, ...count })),
    clicks: clicks.map((count) => ({ ...key, merchant: 'Kopje', clicks: 1, ...count })),
  })
  await store.close()
}

/** Count widgets of three products, of which the chair then vanishes. */
async function prepare(): Promise<void> {
  catalog.products.set(CHANNEL_ID, [lamp, chair, shelf])
  expect((await run('sync')).code).toBe(0)
  await addCounts(
    [
      { sub: 'post-1', shown: 5 },
      { gtin: CHAIR, sub: 'post-1', shown: 2, hidden: 7 },
      { gtin: CHAIR, sub: '-post', shown: 0, hidden: 1 },
      { gtin: SHELF, shown: 40 },
      { gtin: SHELF, day: TODAY - 10, shown: 1_000 },
    ],
    [
      { sub: 'post-1', clicks: 3 },
      { gtin: SHELF, merchant: '+Shop', clicks: 4 },
    ],
  )
  catalog.products.set(CHANNEL_ID, [lamp, shelf])
  expect((await run('sync')).code).toBe(0)
}

test('products with problems - short lines first, then the products', async () => {
  await prepare()
  const { code, out } = await run('report')
  expect(code).toBe(0)
  const [first, ...lines] = out.split('\n')
  expect(first).toMatch(/^Test magazine, .* to .*: 3 products asked for\.$/)
  expect(lines.slice(0, 3)).toEqual([
    'Boxes: 47 shown, 8 empty, 0 unavailable. 7 clicks.',
    '1 product is sold by no shop: its boxes are empty, or show a stand-in. These placements show them: post-1 (1), -post (1).',
    '1 product is down to one shop.',
  ])
  expect(out).toMatch(
    new RegExp(`No shop:\\n {2}${CHAIR}: no shop, last sold .*; 2 shown, 8 empty; post-1, -post\\n`),
  )
  expect(out).toMatch(/One shop left:\n.*only Kopje; 5 shown, 0 empty, 3 clicks; post-1$/m)
  expect(out).not.toContain('Shelf')
})

test('--csv - has no cell that a spreadsheet runs', async () => {
  await prepare()
  const { out } = await run('report', '--csv', '--list', 'products')
  expect(out.split('\n')).toEqual(
    [
      'channel,gtin,title,state,shops,last_sold,shown,hidden,unavailable,clicks,placements',
      `${CHANNEL_ID},${CHAIR},,hidden,,${isoToday},2,8,0,0,"post-1; -post"`,
      `${CHANNEL_ID},${LAMP},"'=HYPERLINK(""x""), ""lamp""",one_shop,Kopje,,5,0,0,3,post-1`,
      `${CHANNEL_ID},${SHELF},Shelf,sold,Kopje; Tafelrond,,40,0,0,4,`,
    ].map((line) => line.replace('Kopje; Tafelrond', '"Kopje; Tafelrond"')),
  )
  expect((await run('report', '--csv', '--list', 'placements')).out.split('\n')).toEqual([
    'channel,sub,products,empty_products,shown,hidden,unavailable,clicks',
    `${CHANNEL_ID},post-1,2,1,7,7,0,3`,
    `${CHANNEL_ID},'-post,1,1,0,1,0,0`,
    `${CHANNEL_ID},,1,0,40,0,0,4`,
  ])
  expect((await run('report', '--csv', '--list', 'clicks')).out.split('\n')).toEqual([
    'channel,merchant,sub,gtin,clicks',
    `${CHANNEL_ID},'+Shop,,${SHELF},4`,
    `${CHANNEL_ID},Kopje,post-1,${LAMP},3`,
  ])
})

test('--csv - a cell has all placements', async () => {
  catalog.products.set(CHANNEL_ID, [lamp])
  await run('sync')
  const subs = Array.from({ length: 25 }, (_, index) => `post-${index + 10}`)
  await addCounts(subs.map((sub) => ({ sub })))
  const { out } = await run('report', '--csv', '--list', 'products')
  expect(out).toContain(`"${subs.join('; ')}"`)
})

test('--json - totals, states and the list, of the given days and channel', async () => {
  await prepare()
  const { out } = await run('report', '--json', '--days', '11', '--channel', CHANNEL_ID.toUpperCase())
  expect(JSON.parse(out)).toMatchObject({
    days: 11,
    channels: [
      {
        id: CHANNEL_ID,
        until: isoToday,
        totals: { products: 3, shown: 1_047, hidden: 8, unavailable: 0, clicks: 7 },
        states: { hidden: 1, sold_out: 0, one_shop: 1, sold: 1 },
        problems: [
          { gtin: CHAIR, title: null, last_sold: isoToday, placements: ['post-1', '-post'] },
          { gtin: LAMP, state: 'one_shop', shops: ['Kopje'] },
        ],
      },
    ],
  })
})

test.each(['placements', 'clicks', 'products'])('--list %s - has a line for each', async (list) => {
  await prepare()
  const { out } = await run('report', '--list', list)
  expect(out.split('\n').filter((line) => line.startsWith('  ')).length).toBeGreaterThan(1)
})

test('--list clicks - reads and prints the first lines, and says that there are more', async () => {
  catalog.products.set(CHANNEL_ID, [lamp])
  await run('sync')
  await addCounts(
    [],
    Array.from({ length: 40 }, (_, index) => ({ sub: `post-${index}`, clicks: 100 - index })),
  )
  const lines = (await run('report', '--list', 'clicks')).out
    .split('\n')
    .filter((line) => line.startsWith('  '))
  expect(lines).toHaveLength(31)
  expect(lines.slice(-2)).toEqual([
    `  71  Kopje, post-29, ${LAMP}`,
    '  … and more; --csv and --json have all',
  ])
  expect((await run('report', '--csv', '--list', 'clicks')).out.split('\n')).toHaveLength(41)
})

test('nothing counted, and no channel - say so', async () => {
  expect((await run('report')).out).toContain('No channel is known yet.')
  catalog.products.set(CHANNEL_ID, [lamp])
  await run('sync')
  expect((await run('report')).out).toMatch(/: nothing was counted\.$/m)
})

test.each([
  [['--days', '0'], '--days is a number from 1 to 100'],
  [['--days', '101'], '--days is a number from 1 to 100'],
  [['--list', 'all'], 'Allowed choices are problems, products, placements, clicks'],
  [['--csv', '--json'], 'use either --json or --csv'],
  [['--channel', 'nobody'], 'the stored copy has no channel nobody'],
])('wrong usage %j - exit code 64 and the reason', async (args, reason) => {
  const { code, err } = await run('report', ...args)
  expect(code).toBe(64)
  expect(err).toContain(reason)
})
