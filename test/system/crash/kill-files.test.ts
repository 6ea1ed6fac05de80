import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import request from 'supertest'
import { describe, expect, test, vi } from 'vitest'
import { openSqlite } from '../../../src/database/sqlite.ts'
import { makeFolder, makeSettings, runBuilt, startBuilt } from '../../cli/run-cli.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import {
  type CrashFixture,
  type VisitResult,
  expectIntact,
  makeCrashFixture,
  openCopy,
  getFileSize,
  toBox,
  toGrid,
  visit,
  walkInProcess,
} from './crash-fixture.ts'
import { killAtStatement } from './kill-at-statement.ts'

const OLD = '49.90'
const NEW = '39.90'

/** Poll every millisecond: a migration takes a few milliseconds. */
const BUSY_POLLING = { interval: 1 } as const

/** A statement before which the process is killed: its name, its pattern, and which match it is, from 1. */
type KillPoint = readonly [string, RegExp, number]

const KILL_POINTS: readonly KillPoint[] = [
  ['journal_mode', /journal_mode/, 1],
  ['table of migrations', /create table if not exists/, 1],
  ['first table', /^create table channels/, 1],
  ['last index', /^create index/, 4],
  ['later table', /create table quota_minutes/, 1],
  ['end', /^commit$/, 1],
]

describe('kill -9 during the first migration', () => {
  test.each([
    ['the file exists', '', 0],
    ['-wal has 40 kB', '-wal', 40_000],
  ])('as soon as %s - the next start repairs the copy', async (_name, end, bytes) => {
    const fixture = await makeCrashFixture(3, OLD)
    const running = startBuilt(['serve'], fixture.settings)
    await vi.waitFor(() => expect(getFileSize(fixture.path + end)).toBeGreaterThanOrEqual(bytes), {
      ...BUSY_POLLING,
    })
    await running.stop('SIGKILL')
    expect(await startAgain(fixture)).toEqual([
      { state: 'shown', prices: [OLD] },
      { state: 'shown', prices: [OLD] },
    ])
  })

  test('just before a statement - the next walk repairs the copy', async () => {
    const seen: unknown[] = []
    const testKillPoint = async ([name, matches, count]: KillPoint): Promise<void> => {
      const fixture = await makeCrashFixture(3, OLD)
      const killSettings = killAtStatement(fixture.folder, matches, count)
      const { code } = await runBuilt(['sync'], { ...fixture.settings, ...killSettings })
      expectIntact(fixture.path)
      await walkInProcess(fixture)
      const store = await openCopy(fixture)
      const { currentWalk, productCount } = await store.getCopyState(CHANNEL_ID)
      seen.push([name, code, currentWalk, productCount])
    }
    // Two at a time: most of the time is starting programs.
    for (let index = 0; index < KILL_POINTS.length; index += 2)
      await Promise.all(KILL_POINTS.slice(index, index + 2).map(testKillPoint))
    const expected = KILL_POINTS.map(([name]) => [name, null, 1, 3])
    expect(seen).toHaveLength(expected.length)
    expect(seen).toEqual(expect.arrayContaining(expected))
  })
})

/** Start the server on the files that the kill left, and visit a box and a grid. */
async function startAgain(fixture: CrashFixture): Promise<readonly VisitResult[]> {
  expectIntact(fixture.path)
  const second = startBuilt(['serve', '--json'], fixture.settings)
  const { publicUrl } = JSON.parse(await second.firstLine) as { publicUrl: string }
  const seen = [await visit(publicUrl, toBox(0)), await visit(publicUrl, toGrid())]
  await second.stop('SIGTERM')
  expectIntact(fixture.path)
  return seen
}

/** Rows of the file whose import is killed, and of the earlier file of the same feed. */
const ROWS = 12_000
const OLD_ROWS = 300

/** Long links make the import exceed SQLite's page cache, so that pages reach the write-ahead log before the commit. */
const LINK_CHARACTERS = 3_500

/** The first statement that writes offers, one after the page cache is full, and the commit. */
const IMPORT_KILL_POINTS: readonly KillPoint[] = [
  ['first offers', /insert into "offers"/, 1],
  ['pages in the write-ahead log', /insert into "offers"/, 57 * 200 + 1],
  ['end', /^commit$/, 1],
]

function writeFeed(folder: string, rows: number, price: string): string {
  const link = `https://track.example/?to=${'x'.repeat(LINK_CHARACTERS)}`
  const offers = [makeWireOffer({ price, old_price: '99.00', affiliate_url: link })]
  const lines = Array.from({ length: rows }, (_, index) =>
    JSON.stringify(makeWireProduct({ gtin: toGtin(index), title: `Lamp ${index}`, offers })),
  )
  const file = join(folder, `${price}.ndjson`)
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}

/** Return the number of products and offers in the catalog, and the price range. */
function readCatalog(path: string): unknown {
  const database = openSqlite({ path, role: 'reader' })
  const sql =
    'select count(distinct gtin) as products, count(*) as offers, min(price) as low, max(price) as high from offers'
  const [row] = database.prepare(sql).all([])
  database.close()
  return row
}

describe('kill -9 during an import into a catalog with an earlier import', () => {
  test('just before a statement - the old data is served, and a new import works', async () => {
    const folder = makeFolder()
    const path = join(folder, 'catalog.db')
    const settings = makeSettings(folder)
    const feed = writeFeed(folder, ROWS, NEW)
    expect(
      (await runBuilt(['catalog', 'import', '--feed', 'lamps', writeFeed(folder, OLD_ROWS, OLD)], settings))
        .code,
    ).toBe(0)
    const before = { products: OLD_ROWS, offers: OLD_ROWS, low: OLD, high: OLD }
    expect(readCatalog(path)).toEqual(before)

    const logs: (readonly [string, boolean])[] = []
    for (const [name, matches, count] of IMPORT_KILL_POINTS) {
      const killSettings = killAtStatement(folder, matches, count)
      expect(
        (await runBuilt(['catalog', 'import', '--feed', 'lamps', feed], { ...settings, ...killSettings }))
          .code,
      ).toBeNull()
      logs.push([name, getFileSize(`${path}-wal`) > 0])
      expectIntact(path)
      expect(readCatalog(path)).toEqual(before)
    }

    expect(logs).toContainEqual(['pages in the write-ahead log', true])
    const server = startBuilt(['serve', '--json'], settings)
    const { box, grid } = JSON.parse(await server.firstLine) as { box: string; grid: string }
    for (const address of [box, grid]) {
      const { text } = await request(address).get('')
      expect([text.includes(OLD), text.includes(NEW)]).toEqual([true, false])
    }
    expect((await runBuilt(['catalog', 'import', '--feed', 'lamps', feed], settings)).code).toBe(0)
    expect(readCatalog(path)).toEqual({ products: ROWS, offers: ROWS, low: NEW, high: NEW })
    expectIntact(path)
  })
})
