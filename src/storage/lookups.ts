import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type Clock, isNewer, toNewerMs, MINUTE_MS, isWithin } from '../clock.ts'
import { execute, inList } from '../database/dialect.ts'
import { toLeaseTime, createExpiredCondition, toLeaseEnd } from '../database/leases.ts'
import { createBatcher } from '../lib/concurrency.ts'
import type { CopyConnection } from './copy-database.ts'
import { parseImages, parseProductRow } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, type CopyView, createVersionCondition } from './copies.ts'
import type { CopyEntry, CopyStore } from './store.ts'

const PRODUCT_COLUMNS =
  'p.id, p.gtin, p.title, p.brand, p.images, p.offers, p.checked_at, p.drops, p.as_of_ms'

/** `page_as_of_ms`: when a walk last saw the product's page. The row of an unchanged product is not updated by a walk. */
export type RowTimes = Readonly<{ as_of_ms: number; page_as_of_ms: number | null }>

type ProductRow = Parameters<typeof parseProductRow>[0] & RowTimes & Readonly<{ id: number }>

export function toAsOfMs({ as_of_ms: rowMs, page_as_of_ms: pageMs }: RowTimes, nowMs: number): number {
  return toNewerMs(rowMs, pageMs ?? rowMs, nowMs)
}

/** Select when a walk last saw the page of `p.gtin`: pages do not overlap, so it is the last one that begins below. */
export function toPageTime(copyId: string | number, walk: string | number): string {
  return `(select case when w.until_gtin >= p.gtin then w.as_of_ms end from walk_pages w where w.copy_id = ${copyId}
    and w.walk = ${walk} and w.after_gtin < p.gtin order by w.after_gtin desc limit 1)`
}

export function selectPageTime(copy: CopyRow): RawBuilder<unknown> {
  return sql.raw(`${toPageTime(copy.id, copy.visibleWalk)} as page_as_of_ms`)
}

/** As `CopyRow.visibleWalk`. */
const VISIBLE_WALK = 'case when c.current_walk > 0 then c.current_walk else c.running_walk end'

const FIND_PRODUCT = `select ${PRODUCT_COLUMNS}, a.as_of_ms as absent_at_ms,
  ${toPageTime('c.id', VISIBLE_WALK)} as page_as_of_ms
  from copies c
  left join products p on p.copy_id = c.id and p.gtin = ? and p.from_walk <= ${VISIBLE_WALK}
    and (p.until_walk is null or p.until_walk > ${VISIBLE_WALK})
  left join absences a on a.copy_id = c.id and a.gtin = ?
  where c.catalog = ? and c.channel_id = ?`

/** The joined product row has all columns or only null. */
type JoinedRow = (ProductRow | Readonly<{ id: null }>) & Readonly<{ absent_at_ms: number | null }>

/** Find a product in one statement: the newer of its row and its absence. */
export async function findProduct(
  database: Kysely<CopyTables>,
  request: Readonly<{ catalog: string; channelId: string; gtin: string; clock: Clock }>,
): Promise<CopyEntry | undefined> {
  const { catalog, channelId, gtin, clock } = request
  const [row] = await execute<JoinedRow>(database, FIND_PRODUCT, [gtin, gtin, catalog, channelId])
  if (row === undefined) return undefined
  const nowMs = clock.nowMs()
  const entry = row.id === null ? undefined : findEntry(row, nowMs)
  const { absent_at_ms: absentAtMs } = row
  if (absentAtMs === null || (entry !== undefined && !isNewer(absentAtMs, entry.asOfMs, nowMs))) return entry
  return { product: null, asOfMs: absentAtMs }
}

/** Find visible products by GTIN, without those that are absent. */
export async function findProducts(
  database: Kysely<CopyTables>,
  copy: CopyView,
  gtins: readonly string[],
): Promise<ReadonlyMap<string, CopyEntry>> {
  const { rows } = await sql<ProductRow & { absent_at_ms: number | null }>`
    select ${sql.raw(PRODUCT_COLUMNS)}, ${selectPageTime(copy)}, a.as_of_ms as absent_at_ms from products p
    left join absences a on a.copy_id = p.copy_id and a.gtin = p.gtin
    where p.copy_id = ${copy.id} and ${inList(database, 'p.gtin', gtins)}
      and ${createVersionCondition(copy.visibleWalk)}`.execute(database)
  const entries = rows.map((row) => [row.gtin, findPresentEntry(row, copy.nowMs)] as const)
  return new Map(entries.flatMap(([gtin, entry]) => (entry === undefined ? [] : [[gtin, entry]])))
}

function findPresentEntry(
  row: ProductRow & Readonly<{ absent_at_ms: number | null }>,
  nowMs: number,
): CopyEntry | undefined {
  const entry = findEntry(row, nowMs)
  const isAbsent =
    entry !== undefined && row.absent_at_ms !== null && isNewer(row.absent_at_ms, entry.asOfMs, nowMs)
  return isAbsent ? undefined : entry
}

const FIND_PICTURE = `select p.images from products p join copies c on c.id = p.copy_id
  where p.picture_hash = ? and p.images <> '[]' and c.catalog = ? and p.from_walk <= ${VISIBLE_WALK}
    and (p.until_walk is null or p.until_walk > ${VISIBLE_WALK}) limit 1`

/** Find the address of a picture of any channel by its name. */
export async function findPicture(
  database: Kysely<CopyTables>,
  catalog: string,
  pictureHash: string,
): Promise<string | undefined> {
  const [row] = await execute<{ images: string }>(database, FIND_PICTURE, [pictureHash, catalog])
  return row && parseImages(row.images)?.[0]
}

/** Read visible products by row id, in that order, without damaged rows. */
export async function readProducts(
  database: Kysely<CopyTables>,
  copy: CopyView,
  ids: readonly number[],
): Promise<readonly CopyEntry[]> {
  // No condition on `copy_id`: SQLite would then scan the whole copy.
  const { rows } = await sql<ProductRow>`select ${sql.raw(PRODUCT_COLUMNS)}, ${selectPageTime(copy)}
    from products p where ${inList(database, 'id', ids)} and ${createVersionCondition(copy.visibleWalk)}`.execute(
    database,
  )
  const byId = new Map(rows.map((row) => [row.id, findEntry(row, copy.nowMs)]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

function findEntry(row: ProductRow, nowMs: number): CopyEntry | undefined {
  const product = parseProductRow(row)
  return product && { product, asOfMs: toAsOfMs(row, nowMs) }
}

/** How often expired leases of crashed processes are deleted. */
const SWEEP_INTERVAL_MS: number = MINUTE_MS

type ProductKey = Parameters<CopyStore['acquireLookupLease']>[0]
type AcquireRequest = ProductKey & Parameters<CopyStore['acquireLookupLease']>[1]
type ReleaseRequest = ProductKey & Parameters<CopyStore['releaseLookupLease']>[1]

/**
 * Create the look-up leases. The lease of a crashed process expires. Concurrent requests share a statement, sorted by product so
 * that two machines never deadlock.
 */
export function createLookupLeases(
  connection: CopyConnection,
  catalog: string,
  clock: Clock,
): Pick<CopyStore, 'acquireLookupLease' | 'releaseLookupLease'> {
  let sweptAtMs = -Infinity

  const acquire = createBatcher(async (requests: readonly AcquireRequest[]) => {
    const firstByProduct = new Map<string, AcquireRequest>()
    for (const request of requests)
      if (!firstByProduct.has(toKey(request))) firstByProduct.set(toKey(request), request)
    const { rows: acquired } = await connection.write(async ({ writer }) => {
      const now = toLeaseTime(writer, clock)
      const leaseRows = sortByProduct([...firstByProduct.values()]).map(
        ({ channelId, gtin, owner, forMs }) =>
          sql`(${catalog}, ${channelId}, ${gtin}, ${owner}, ${toLeaseEnd(now, forMs)})`,
      )
      const isExpired = createExpiredCondition(
        'lookup_leases',
        now,
        Math.max(...requests.map(({ forMs }) => forMs)),
      )
      return sql<{ channelId: string; gtin: string }>`
      insert into lookup_leases (catalog, channel_id, gtin, lease_owner, lease_until_ms)
      values ${sql.join(leaseRows)}
      on conflict (catalog, channel_id, gtin) do update
      set lease_owner = excluded.lease_owner, lease_until_ms = excluded.lease_until_ms where ${isExpired}
      returning channel_id as ${sql.ref('channelId')}, gtin`.execute(writer)
    })
    const acquiredKeys = new Set(acquired.map(toKey))
    return requests.map(
      (request) => firstByProduct.get(toKey(request)) === request && acquiredKeys.has(toKey(request)),
    )
  })

  const release = createBatcher(async (requests: readonly ReleaseRequest[]) => {
    const conditions = sortByProduct(requests).map(
      ({ channelId, gtin, owner }) =>
        sql`channel_id = ${channelId} and gtin = ${gtin} and lease_owner = ${owner}`,
    )
    const deletion = sql`delete from lookup_leases
      where catalog = ${catalog} and (${sql.join(conditions, sql` or `)})`
    await connection.write(({ writer }) => deletion.execute(writer))
    const nowMs = clock.nowMs()
    if (!isWithin(sweptAtMs, SWEEP_INTERVAL_MS, nowMs)) {
      sweptAtMs = nowMs
      await connection.write(({ writer }) =>
        sql`delete from lookup_leases where lease_until_ms <= ${toLeaseTime(writer, clock)}`.execute(writer),
      )
    }
    return requests.map(() => undefined)
  })

  return {
    acquireLookupLease: (product, details) => acquire({ ...product, ...details }),
    releaseLookupLease: (product, details) => release({ ...product, ...details }),
  }
}

function sortByProduct<T extends ProductKey>(requests: readonly T[]): readonly T[] {
  return requests.toSorted((a, b) => (toKey(a) < toKey(b) ? -1 : 1))
}

function toKey({ channelId, gtin }: ProductKey): string {
  return `${channelId} ${gtin}`
}
