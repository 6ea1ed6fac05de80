import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { type QueryExecutorProvider, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Clock } from '../clock.ts'
import { createRowLock, isPostgres } from './dialect.ts'

/** `forMs`: how long the lease lasts unless it is extended. */
export type Lease = Readonly<{ owner: string; forMs: number }>

/**
 * A row that one process at a time has: `lease_owner` until `lease_until_ms`; `null` and 0 when it is released. A fenced row also
 * has `lease_fence`, which grows with each new lease. `key`: the condition that finds the row.
 */
export type LeaseRow = Readonly<{
  database: QueryExecutorProvider
  clock: Clock
  table: string
  key: RawBuilder<SqlBool>
}>

/** Return when a lease that begins now ends, by the clock of `now` (`toLeaseTime`). */
export function toLeaseEnd(now: RawBuilder<number>, forMs: number): RawBuilder<number> {
  return sql`${now} + cast(${forMs} as bigint)`
}

/** Build the condition that a lease has expired. One that ends too far ahead was acquired before the clock was set back. */
export function createExpiredCondition(
  table: string,
  now: RawBuilder<number>,
  forMs: number,
): RawBuilder<SqlBool> {
  const until = sql.ref(`${table}.lease_until_ms`)
  return sql`(${until} <= ${now} or ${until} > ${toLeaseEnd(now, 2 * forMs)})`
}

/** Acquire the lease, and return one column of the row; `undefined` when another owner has it, or no row meets the `key`. */
export async function acquireLease(
  { database, clock, table, key }: LeaseRow,
  { owner, forMs }: Lease,
  returned: string,
): Promise<number | undefined> {
  const now = toLeaseTime(database, clock)
  const { rows } = await sql<{ value: number }>`update ${sql.table(table)}
    set lease_owner = ${owner}, lease_until_ms = ${toLeaseEnd(now, forMs)}
    where ${key} and ${createExpiredCondition(table, now, forMs)}
    returning ${sql.ref(returned)} as value`.execute(database)
  return rows[0]?.value
}

/** Acquire the lease of a fenced row, and return the fence; `undefined` when another owner has it, or no row meets the `key`. */
export async function acquireFencedLease(
  { database, clock, table, key }: LeaseRow,
  { owner, forMs }: Lease,
): Promise<number | undefined> {
  const now = toLeaseTime(database, clock)
  // The owner may replace its own lease, whose writes the fence then rejects.
  const { rows } = await sql<{ fence: number }>`update ${sql.table(table)}
    set lease_owner = ${owner}, lease_until_ms = ${toLeaseEnd(now, forMs)}, lease_fence = lease_fence + 1
    where ${key} and (lease_owner = ${owner} or ${createExpiredCondition(table, now, forMs)})
    returning lease_fence as fence`.execute(database)
  return rows[0]?.fence
}

/** Extend a lease, also an expired one; `false` when another owner, or with `fence` any lease, has acquired it since, or it was released. */
export async function extendLease(
  { database, clock, table, key }: LeaseRow,
  { owner, forMs }: Lease,
  fence?: number,
): Promise<boolean> {
  const isCurrent = fence === undefined ? sql`` : sql`and lease_fence = ${fence}`
  const until = toLeaseEnd(toLeaseTime(database, clock), forMs)
  const { numAffectedRows = 0n } = await sql`update ${sql.table(table)} set lease_until_ms = ${until}
    where ${key} and lease_owner = ${owner} ${isCurrent}`.execute(database)
  return numAffectedRows > 0n
}

/** Release a lease and change other columns with it; `false`, without any effect, when this owner no longer has it. */
export async function releaseLease(
  { database, table, key }: Omit<LeaseRow, 'clock'>,
  owner: string,
  changes?: RawBuilder<unknown>,
): Promise<boolean> {
  const others = changes === undefined ? sql`` : sql`, ${changes}`
  const { numAffectedRows = 0n } = await sql`update ${sql.table(table)}
    set lease_owner = null, lease_until_ms = 0 ${others}
    where ${key} and lease_owner = ${owner}`.execute(database)
  return numAffectedRows > 0n
}

/** Lock the row until the end of the transaction. Return whether no lease was acquired since the one with this fence. */
export async function lockFence(
  { database, table, key }: Omit<LeaseRow, 'clock'>,
  fence: number,
): Promise<boolean> {
  const { rows } = await sql<{ fence: number }>`
    select lease_fence as fence from ${sql.table(table)} where ${key} ${createRowLock(database)}`.execute(
    database,
  )
  return rows[0]?.fence === fence
}

/**
 * Return the current time for leases, Unix milliseconds: in PostgreSQL the server's, which is the same for all machines. With
 * its own wrong clock, a machine could take over or extend leases. A SQLite file belongs to one machine.
 */
export function toLeaseTime(database: QueryExecutorProvider, clock: Clock): RawBuilder<number> {
  return isPostgres(database) ? SERVER_TIME : sql<number>`${clock.nowMs()}`
}

/** Not `now()`, which is the start of the transaction. */
const SERVER_TIME: RawBuilder<number> = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`

/** Read the database server's clock, Unix milliseconds; `null` for a file. */
export async function readDatabaseTime(database: QueryExecutorProvider): Promise<number | null> {
  if (!isPostgres(database)) return null
  const { rows } = await sql<{ now_ms: number }>`select ${SERVER_TIME} as now_ms`.execute(database)
  return rows[0]?.now_ms ?? null
}

/** Create a unique owner name from which other processes on this machine can tell whether this process is running. */
export function createLeaseOwner(): string {
  return [randomUUID(), process.pid, MACHINE_ID].join(' ')
}

/** Host name, boot id and PID namespace: cloned machines and containers can share a name, and PIDs are unique per namespace only. */
const MACHINE_ID = [
  hostname(),
  tryRead(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
  tryRead(() => readlinkSync('/proc/self/ns/pid')),
].join(' ')

/** Return the text, or an empty string when the system does not have that file. */
function tryRead(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

/** `true` when the owner ran on this machine and its process has exited. Leases of other machines must expire instead. */
export function hasOwnerExited(owner: string): boolean {
  const [, pid = '', ...machine] = owner.split(' ')
  if (machine.join(' ') !== MACHINE_ID || !/^[1-9]\d{0,9}$/.test(pid)) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
