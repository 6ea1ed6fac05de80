import type { Kysely } from 'kysely'
import type { Clock } from '../clock.ts'
import type { CopyTables } from './schema.ts'
import { executeOnce } from './statements.ts'
import type { CopyStore } from './store.ts'

/** Claims of look-ups are rows with an end: whoever dies loses his. */
export function createSqlClaims(
  database: Kysely<CopyTables>,
  catalog: string,
  clock: Clock,
): Pick<CopyStore, 'claimLookup' | 'giveBackLookup'> {
  return {
    async claimLookup({ channelId, gtin }, { owner, forMs }) {
      const nowMs = clock.nowMs()
      const untilMs = nowMs + forMs
      // Two that are made at one moment may end in another order; one that ends much later was made before the clock was set back.
      const latestMs = untilMs + forMs
      const rows = await executeOnce(database, 'claim look-up', {
        values: [catalog, channelId, gtin, owner, untilMs, owner, untilMs, nowMs, latestMs],
        build: () =>
          database
            .insertInto('lookup_claims')
            .values({ catalog, channel_id: channelId, gtin, owner, until_ms: untilMs })
            .onConflict((conflict) =>
              conflict
                .columns(['catalog', 'channel_id', 'gtin'])
                .doUpdateSet({ owner, until_ms: untilMs })
                .where((builder) =>
                  builder.or([
                    builder('lookup_claims.until_ms', '<=', nowMs),
                    builder('lookup_claims.until_ms', '>', latestMs),
                  ]),
                ),
            )
            .returning('owner'),
      })
      return rows.length > 0
    },
    async giveBackLookup({ channelId, gtin }, { owner }) {
      const nowMs = clock.nowMs()
      await executeOnce(database, 'give look-up back', {
        values: [catalog, channelId, gtin, owner, nowMs],
        build: () =>
          database.deleteFrom('lookup_claims').where((builder) =>
            builder.or([
              builder.and({ catalog, channel_id: channelId, gtin, owner }),
              // Of processes that died with them.
              builder('until_ms', '<=', nowMs),
            ]),
          ),
      })
    },
  }
}
