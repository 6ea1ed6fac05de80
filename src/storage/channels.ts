import { existsSync } from 'node:fs'
import { type Kysely, type Transaction, sql } from 'kysely'
import { CHANNEL_KINDS, type Channel } from '../catalog/contract.ts'
import { toLatestPlausibleMs } from '../clock.ts'
import type { DatabaseAddress } from '../config/database-address.ts'
import { inList } from '../database/dialect.ts'
import { openCopyConnection } from './copy-database.ts'
import type { ChannelListsTable, ChannelsTable, CopyTables } from './schema.ts'
import type { ChannelList } from './store.ts'

export async function findChannelList(
  database: Kysely<CopyTables>,
  catalog: string,
): Promise<ChannelList | undefined> {
  const lists = await sql<ChannelListsTable>`
    select * from channel_lists where catalog = ${catalog}`.execute(database)
  const [list] = lists.rows
  if (list === undefined) return undefined
  const { rows } = await sql<ChannelsTable>`
    select * from channels where catalog = ${catalog} order by position`.execute(database)
  return {
    asOfMs: list.as_of_ms,
    heldSinceMs: list.held_since_ms,
    channels: rows.filter((row) => row.gone_at_ms === null).map(toChannel),
    gone: rows.flatMap((row) =>
      row.gone_at_ms === null ? [] : [{ channel: toChannel(row), goneAtMs: row.gone_at_ms }],
    ),
  }
}

/** Replace the list. A missing channel keeps its row, with the time at which it was first missing. */
export async function putChannelList(
  transaction: Transaction<CopyTables>,
  catalog: string,
  channels: readonly Channel[],
  asOfMs: number,
): Promise<void> {
  const ids = channels.map(({ id }) => id)
  // Replace times in the future, which a wrong clock wrote.
  await sql`update channels set gone_at_ms = ${asOfMs} where catalog = ${catalog}
      and (gone_at_ms is null or gone_at_ms > ${toLatestPlausibleMs(asOfMs)})
      and not ${inList(transaction, 'channel_id', ids)}`.execute(transaction)
  for (const [position, { id, name, kind, url }] of channels.entries())
    await sql`insert into channels (catalog, channel_id, position, name, kind, url)
        values (${catalog}, ${id}, ${position}, ${name}, ${kind}, ${url})
        on conflict (catalog, channel_id) do update set position = excluded.position, name = excluded.name,
        kind = excluded.kind, url = excluded.url, gone_at_ms = null`.execute(transaction)
  await sql`insert into channel_lists (catalog, as_of_ms) values (${catalog}, ${asOfMs})
      on conflict (catalog) do update set as_of_ms = excluded.as_of_ms, held_since_ms = null`.execute(
    transaction,
  )
}

/** Record that the catalog lists no channels. A time in the future, from a wrong clock, is overwritten. */
export async function recordEmptyChannelList(
  database: Kysely<CopyTables>,
  catalog: string,
  asOfMs: number,
): Promise<void> {
  await sql`update channel_lists set held_since_ms = ${asOfMs} where catalog = ${catalog}
    and (held_since_ms is null or held_since_ms > ${asOfMs})`.execute(database)
}

function toChannel(row: ChannelsTable): Channel {
  const kind = CHANNEL_KINDS.find((candidate) => candidate === row.kind) ?? 'other'
  return { id: row.channel_id, name: row.name, kind, url: row.url }
}

/** The catalog id follows it in the name of the copy. */
const EMBEDDED_PREFIX = 'embedded:'

export function toEmbeddedCopyName(catalogId: string): string {
  return `${EMBEDDED_PREFIX}${catalogId}`
}

/**
 * Find the id of the embedded catalog whose channel list was stored last; `undefined` when there is none or no copy. Catalogs
 * that have only channels of `ignoredChannelIds` do not count.
 * @throws StoreError, StoreVersionError
 */
export async function findEmbeddedCatalog(
  address: DatabaseAddress,
  ignoredChannelIds: readonly string[],
): Promise<string | undefined> {
  if (address.kind === 'sqlite' && !existsSync(address.path)) return undefined
  const connection = await openCopyConnection(address, 'check')
  try {
    const { rows } = await connection.read(({ reader }) =>
      sql<{ catalog: string }>`
      select c.catalog from channels c join channel_lists l on l.catalog = c.catalog
      where c.catalog like ${`${EMBEDDED_PREFIX}%`} and not ${inList(reader, 'c.channel_id', ignoredChannelIds)}
      order by l.as_of_ms desc limit 1`.execute(reader),
    )
    return rows[0]?.catalog.slice(EMBEDDED_PREFIX.length)
  } finally {
    await connection.close()
  }
}
