import type { Kysely } from 'kysely'
import { CHANNEL_KINDS, type Channel } from '../catalog/contract.ts'
import { toLatestMs } from '../clock.ts'
import { transact } from '../database/transact.ts'
import type { ChannelsTable, CopyTables } from './schema.ts'
import type { ChannelList } from './store.ts'

/** The list as last fetched by any process; `undefined` before the first. */
export async function findChannelList(
  database: Kysely<CopyTables>,
  catalog: string,
): Promise<ChannelList | undefined> {
  const list = await database
    .selectFrom('channel_lists')
    .select(['as_of_ms', 'held_since_ms'])
    .where('catalog', '=', catalog)
    .executeTakeFirst()
  if (list === undefined) return undefined
  const rows = await database
    .selectFrom('channels')
    .selectAll()
    .where('catalog', '=', catalog)
    .orderBy('position')
    .execute()
  return {
    asOfMs: list.as_of_ms,
    heldSinceMs: list.held_since_ms,
    channels: rows.filter((row) => row.gone_at_ms === null).map(toChannel),
    gone: rows.flatMap((row) =>
      row.gone_at_ms === null ? [] : [{ channel: toChannel(row), goneAtMs: row.gone_at_ms }],
    ),
  }
}

/** Replaces the list. A channel that is missing now keeps its row, with the time at which it was first missing. */
export async function putChannelList(
  database: Kysely<CopyTables>,
  catalog: string,
  list: Readonly<{ channels: readonly Channel[]; asOfMs: number }>,
): Promise<void> {
  await transact(database, async (transaction) => {
    await transaction
      .updateTable('channels')
      .set({ gone_at_ms: list.asOfMs })
      .where('catalog', '=', catalog)
      // One that went while a clock was wrong has gone now.
      .where(({ or, eb }) =>
        or([eb('gone_at_ms', 'is', null), eb('gone_at_ms', '>', toLatestMs(list.asOfMs))]),
      )
      .$if(list.channels.length > 0, (query) =>
        query.where(
          'channel_id',
          'not in',
          list.channels.map((channel) => channel.id),
        ),
      )
      .execute()
    for (const [position, channel] of list.channels.entries()) {
      const content = { position, name: channel.name, kind: channel.kind, url: channel.url, gone_at_ms: null }
      await transaction
        .insertInto('channels')
        .values({ catalog, channel_id: channel.id, ...content })
        .onConflict((conflict) => conflict.columns(['catalog', 'channel_id']).doUpdateSet(content))
        .execute()
    }
    await transaction
      .insertInto('channel_lists')
      .values({ catalog, as_of_ms: list.asOfMs })
      .onConflict((conflict) =>
        conflict.column('catalog').doUpdateSet({ as_of_ms: list.asOfMs, held_since_ms: null }),
      )
      .execute()
  })
}

/** Notes that the catalog lists no channels. A time of the future, of a clock that was wrong, is overwritten. */
export async function holdChannelList(
  database: Kysely<CopyTables>,
  catalog: string,
  asOfMs: number,
): Promise<void> {
  await database
    .updateTable('channel_lists')
    .set({ held_since_ms: asOfMs })
    .where('catalog', '=', catalog)
    .where((builder) =>
      builder.or([builder('held_since_ms', 'is', null), builder('held_since_ms', '>', asOfMs)]),
    )
    .execute()
}

function toChannel(row: ChannelsTable): Channel {
  const kind = CHANNEL_KINDS.find((known) => known === row.kind) ?? 'other'
  return { id: row.channel_id, name: row.name, kind, url: row.url }
}
