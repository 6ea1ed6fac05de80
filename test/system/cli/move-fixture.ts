import { basename, join } from 'node:path'
import { runCommandLine } from '../../../src/cli/program.ts'
import { createCommandIo } from '../../../src/command.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { findMeta } from '../../../src/catalog-service/store/meta.ts'
import { MOVED_CATALOG_TABLES, MOVED_USAGE_TABLES } from '../../../src/catalog-service/store/tables.ts'
import { DAY_MS, systemClock } from '../../../src/clock.ts'
import type { Environment } from '../../../src/config/config.ts'
import { copySqlite, openSqlite } from '../../../src/database/sqlite.ts'
import { toDay } from '../../../src/offers/price-history.ts'
import { MOVED_COPY_TABLES } from '../../../src/storage/tables.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import { createOffer, createProduct, writeFeed } from '../../catalog-service/harness.ts'
import { type CommandResult, makeFolder, makeSettings, runInProcess } from '../../cli/run-cli.ts'
import { createFakePrompt } from '../../cli/fake-prompt.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import { walkAll } from '../../storage/conformance/subject.ts'

/** What a progress line begins with. */
const CLEAR_LINE = '\r'

/** Days before today on which the first channel was walked. */
const WALKED_DAYS = [40, 30, 20, 12, 5, 4, 3, 2, 1]

/** The files of a SQLite server, and the settings that it ran with. */
export type MoveFixture = Readonly<{
  copyFile: string
  catalogFile: string
  usageFile: string
  settings: Environment
  /** A key of the catalog service. */
  key: string
}>

/** Create a server on SQLite that has run for weeks: every table that is moved has rows. */
export async function makeSqliteServer(): Promise<MoveFixture> {
  const folder = makeFolder()
  const settings = makeSettings(folder, { VITRINE_PUBLIC_URL: 'https://vitrine.example' })
  const run = async (...args: string[]): Promise<unknown> => {
    const { code, out, err } = await runInProcess([...args, '--json'], settings)
    if (code !== 0) throw new Error(`${args.join(' ')}: ${code} ${err}`)
    return JSON.parse(out)
  }
  const feed = writeFeed(join(folder, 'feed.ndjson'), [makeRow(1), makeRow(2), makeRow(3)])
  await run('catalog', 'import', feed, '--channel', CHANNEL_ID)
  const { key } = (await run('catalog', 'keys', 'add', 'Web server')) as { key: string }
  await run('catalog', 'organizations', 'add', 'Équipe "deux"', '--daily-limit', '5000')
  const team = ['--organization', 'Équipe "deux"']
  const { id } = (await run('catalog', 'channels', 'add', 'Videos', '--kind', 'youtube', ...team)) as {
    id: string
  }
  await run('catalog', 'merchants', 'set', 'Kopje', '--network', 'brightlink', '--reference', '12345')
  await run('catalog', 'approvals', 'remove', 'KOPJE', '--channel', CHANNEL_ID, '--network', 'brightlink')
  await run('catalog', 'feeds', 'add', 'nightly', '--url', 'https://127.0.0.1:1/feed.xml', '--channel', id)
  const fixture = {
    copyFile: join(folder, 'copy.db'),
    catalogFile: join(folder, 'catalog.db'),
    usageFile: join(folder, 'catalog-usage.db'),
    settings,
    key,
  }
  await observe(fixture)
  await run('sync')
  fillOtherTables(fixture)
  return fixture
}

/** Two shops whose names differ in case only. */
function makeRow(index: number): unknown {
  const makeOffer = (name: string, price: string): unknown =>
    createOffer({
      merchant: { name },
      network: 'brightlink',
      price,
      old_price: '99.00',
      affiliate_url: `https://links.example/${name}/${index}`,
    })
  return createProduct(toGtin(index), {
    title: `Lamp ${index} “Größe” 𝓛`,
    offers: [makeOffer('Kopje', `${40 + index}.90`), makeOffer('KOPJE', '70'), makeOffer('Straße', '60')],
  })
}

/** Walk the channel on earlier days, with a price that falls, and count requests. */
async function observe({ copyFile, catalogFile }: MoveFixture): Promise<void> {
  const catalogDatabase = { kind: 'sqlite', path: catalogFile } as const
  const catalog = await openCatalogStore({ database: catalogDatabase, clock: systemClock })
  const catalogId = await catalog.read((reader) => findMeta(reader, 'catalog_id'))
  await catalog.close()
  const clock = createFakeClock(systemClock.nowMs())
  const store = await openStoredCopy({
    database: { kind: 'sqlite', path: copyFile },
    catalog: `embedded:${catalogId}`,
    clock,
    history: { keptDays: 90, priceMaxAgeSeconds: DAY_MS / 1_000 },
  })
  const today = toDay(clock.nowMs())
  for (const daysAgo of WALKED_DAYS) {
    clock.step((today - daysAgo + 0.5) * DAY_MS - clock.nowMs())
    const products = [1, 2, 3].map((index) =>
      makeProduct({
        gtin: toGtin(index),
        offers: [makeParsedOffer({ price: String(50 + index + daysAgo / 10), oldPrice: '99' })],
      }),
    )
    // The last product is absent now and then.
    await walkAll(store, daysAgo % 4 === 0 ? products.slice(0, 2) : products, clock.nowMs())
    const count = { channelId: CHANNEL_ID, gtin: toGtin(1), sub: 'newsletter', day: today - daysAgo }
    await store.addCounts({
      widgets: [{ ...count, shown: 3 + daysAgo, hidden: 1, unavailable: 0 }],
      clicks: [{ ...count, merchant: 'Kopje', clicks: daysAgo }],
    })
  }
  await store.close()
}

/** Add rows to the tables that only weeks of a real server fill. */
function fillOtherTables({ copyFile, usageFile }: MoveFixture): void {
  const nowMs = systemClock.nowMs()
  const ofCatalog = 'from copies limit 1'
  writeSqlite(copyFile, [
    `insert or replace into lapsed_deals select id, '${toGtin(9)}', 'brightlink "Straße" EUR', 5, ${nowMs} ${ofCatalog}`,
    `insert or replace into product_states select id, '${toGtin(9)}', 0, '' ${ofCatalog}`,
    `insert or replace into feed_states select catalog, 'nightly', 1 ${ofCatalog}`,
    `insert or replace into events select 'e1', catalog, channel_id, ${nowMs}, 0,
      '{"type":"feed.stale","feed":"\\u0000","fetchedAtMs":null}', null ${ofCatalog}`,
    `insert or replace into event_deliveries select catalog, 'host 1 x', ${nowMs}, 2, 0, null, 'HTTP 500', ${nowMs} ${ofCatalog}`,
    `insert or replace into quotas select catalog, 0, 1, 7, 5000 ${ofCatalog}`,
    `insert or replace into quota_days select catalog, ${toDay(nowMs)}, 12, 3, 4 ${ofCatalog}`,
  ])
  writeSqlite(usageFile, [
    `insert or replace into usage values ('organization', '2026-05-01', 12)`,
    `insert or replace into key_uses values ('key', ${nowMs})`,
    `insert or replace into feed_attempts values (1, ${nowMs}, 1, 'VITRINE_FEED_FETCH_FAILED', 'no response', 'host 1 x', 1, null)`,
  ])
}

/** Copy the files, so that a test can change them. */
export function copyFixture(source: MoveFixture): MoveFixture {
  const folder = makeFolder()
  const copy = (path: string): string => {
    const target = join(folder, basename(path))
    copySqlite(path, target)
    return target
  }
  const copyFile = copy(source.copyFile)
  const catalogFile = copy(source.catalogFile)
  const settings = {
    ...source.settings,
    VITRINE_DATABASE_URL: `sqlite:${copyFile}`,
    VITRINE_CATALOG_DATABASE_URL: `sqlite:${catalogFile}`,
  }
  return { ...source, copyFile, catalogFile, usageFile: copy(source.usageFile), settings }
}

/** Execute statements on a SQLite file. */
export function writeSqlite(path: string, statements: readonly string[]): void {
  const database = openSqlite({ path, role: 'writer' })
  for (const statement of statements) database.prepare(statement).run([])
  database.close()
}

/** All tables that are moved, in their order. */
export const MOVED_TABLES: readonly (readonly [schema: string, table: string])[] = [
  ...MOVED_COPY_TABLES.map(({ name }) => ['vitrine_copy', name] as const),
  ...[...MOVED_CATALOG_TABLES, ...MOVED_USAGE_TABLES].map(({ name }) => ['vitrine_catalog', name] as const),
]

/** Return the settings of a server on PostgreSQL, which logs nothing. */
export function toPostgresSettings({ settings }: MoveFixture, url: string): Environment {
  return { ...settings, VITRINE_DATABASE_URL: url, VITRINE_CATALOG_DATABASE_URL: url }
}

/** Run `vitrine move`. `onBatch` is called after each batch with its number, and can stop the command. */
export async function runMove(
  { copyFile, catalogFile }: MoveFixture,
  environment: Environment,
  onBatch: (batch: number, stop: AbortController) => unknown = () => {},
): Promise<CommandResult> {
  const stop = new AbortController()
  const result = { out: '', err: '' }
  let batches = 0
  const io = createCommandIo({
    out: (line) => void (result.out += `${line}\n`),
    err(text) {
      if (!text.startsWith(CLEAR_LINE)) result.err += text
      else if (text.includes(' row')) onBatch((batches += 1), stop)
    },
    isTerminal: true,
    onHangUp: () => undefined,
    signal: stop.signal,
    openPrompt: () => createFakePrompt([]),
  })
  const args = ['move', '--json', '--from', copyFile, '--catalog-from', `sqlite:${catalogFile}`]
  const code = await runCommandLine(args, () => environment, io)
  return { code, ...result }
}
