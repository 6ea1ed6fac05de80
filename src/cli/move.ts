import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import type { Kysely } from 'kysely'
import { openCatalogStore, toUsageDatabasePath } from '../catalog-service/store/open-store.ts'
import {
  MOVED_CATALOG_TABLES,
  MOVED_USAGE_TABLES,
  CATALOG_MIGRATIONS,
  USAGE_MIGRATIONS,
} from '../catalog-service/store/tables.ts'
import { type CommandContext, print } from '../command.ts'
import {
  type DatabaseAddress,
  type PostgresAddress,
  databaseAddressParser,
  describeDatabase,
} from '../config/database-address.ts'
import { SETTINGS } from '../config/settings.ts'
import { findPostgresFailure } from '../database/failures.ts'
import {
  type MoveSource,
  openMoveSource,
  type Move,
  type MovedRows,
  type MovedTable,
  checkTarget,
  describeCleanup,
  moveTables,
  verifyTables,
} from '../database/move-tables.ts'
import { MoveError, StoreError, UsageError, VitrineError } from '../errors.ts'
import { formatNumber, pluralize } from '../lib/format.ts'
import { openCopyConnection } from '../storage/copy-database.ts'
import { COPY_MIGRATIONS, MOVED_COPY_TABLES } from '../storage/tables.ts'
import { isVitrineRunningAt } from './checks/network.ts'
import { toLocalUrl } from './open-catalog.ts'

export type MoveOptions = Readonly<{ from?: string; catalogFrom?: string }>

const LATE_ROWS = 'what it records from now on is not moved.'

/** A database that can be moved, with the settings and options that say from where and to where. */
const DATABASES = {
  copy: { what: 'stored copy', setting: 'VITRINE_DATABASE_URL', option: '--from' },
  catalog: { what: 'catalog', setting: 'VITRINE_CATALOG_DATABASE_URL', option: '--catalog-from' },
} as const

type DatabaseName = keyof typeof DATABASES

/** Whether the databases are open and checked. */
type Progress = { hasBegun: boolean }

type PlannedMove = Readonly<{ name: DatabaseName; path: string; target: PostgresAddress }>

type OpenMove = Move &
  Readonly<{ name: DatabaseName; sources: readonly MoveSource[]; close(): Promise<void> }>

/**
 * Move what cannot be fetched again from SQLite files to PostgreSQL. All rows are compared before and after. The files are not
 * changed, and a stopped move goes on when the command is repeated.
 * @throws UsageError when there is nothing to move, or no PostgreSQL; MoveError or StoreError when it cannot be moved.
 */
export async function runMove(context: CommandContext, options: MoveOptions): Promise<void> {
  const { io } = context
  const { moves: planned, notes } = planMoves(context, options)
  for (const note of notes) io.err(note)
  const { host, port } = context.config
  if (port !== 0 && (await isVitrineRunningAt(toLocalUrl(host, port))))
    io.err(`Vitrine is running on ${host}:${port}. If it is the server to move, stop it first: ${LATE_ROWS}`)
  const opened: OpenMove[] = []
  const progress = { hasBegun: false }
  try {
    for (const plan of planned) opened.push(await openMove(context, plan))
    const results = await moveAll(context, opened, progress)
    for (const move of opened) assertUnchanged(move)
    const lines = opened.flatMap((move, index) => describeMove(move, results[index] ?? []))
    print(context, { databases: opened.map((move, index) => toJson(move, results[index] ?? [])) }, lines)
  } catch (error) {
    throw toMoveError(error, progress)
  } finally {
    io.drawProgress('')
    for (const move of opened) await move.close()
  }
}

function planMoves({ config }: CommandContext, { from, catalogFrom }: MoveOptions) {
  const moves: PlannedMove[] = []
  const notes: string[] = []
  const plan = (name: DatabaseName, target: DatabaseAddress, file: string | undefined): void => {
    const { what, setting, option } = DATABASES[name]
    const path = file === undefined ? findDefaultPath(setting, target) : toPath(file, option)
    const isThere = existsSync(path)
    if (file !== undefined && !isThere) throw new UsageError(`there is no file "${path}"`)
    if (target.kind === 'postgres' && isThere) moves.push({ name, path, target })
    else if (target.kind === 'postgres')
      notes.push(`There is no ${what} at ${path}; name another file with ${option}.`)
    else if (isThere)
      notes.push(`The ${what} ${path} is not moved: ${setting} is not the address of a PostgreSQL database.`)
  }
  plan('copy', config.database, from)
  plan('catalog', config.catalogDatabase, catalogFrom)
  if (config.database.kind === 'sqlite' && config.catalogDatabase.kind === 'sqlite')
    throw new UsageError(
      'set VITRINE_DATABASE_URL, and with an own catalog VITRINE_CATALOG_DATABASE_URL, to the PostgreSQL database to move to (postgres://…)',
    )
  if (moves.length === 0) throw new UsageError(`there is nothing to move. ${notes.join(' ')}`)
  return { moves, notes }
}

/** Return the file of a setting that is not moved, else the default one, also if this is its folder, as in the image. */
function findDefaultPath(
  setting: (typeof DATABASES)[DatabaseName]['setting'],
  target: DatabaseAddress,
): string {
  if (target.kind === 'sqlite') return target.path
  const path = toPath(SETTINGS[setting].defaultText, setting)
  const name = basename(path)
  return !existsSync(path) && existsSync(name) ? name : path
}

/** Accept what is in a setting, and a path. */
function toPath(text: string, option: string): string {
  const address = databaseAddressParser.parse(/^[a-z]{2,}:/i.test(text) ? text : `sqlite:${text}`)
  if (address?.kind !== 'sqlite')
    throw new UsageError(`${option} is a SQLite file; only SQLite databases are moved`)
  return address.path
}

async function openMove(context: CommandContext, plan: PlannedMove): Promise<OpenMove> {
  const sources: MoveSource[] = []
  try {
    return await (plan.name === 'copy'
      ? openCopyMove(plan, sources)
      : openCatalogMove(context, plan, sources))
  } catch (error) {
    for (const source of sources) source.close()
    throw error
  } finally {
    const path = sources.find(({ isInUse }) => isInUse)?.path
    if (path !== undefined) context.io.err(`A server may still use ${path}. Stop it first: ${LATE_ROWS}`)
  }
}

async function openCopyMove({ name, path, target }: PlannedMove, sources: MoveSource[]): Promise<OpenMove> {
  const source = openMoveSource(path, COPY_MIGRATIONS, DATABASES.copy.what)
  sources.push(source)
  const connection = await openCopyConnection(target, 'walk')
  return {
    name,
    label: describeDatabase(target),
    schema: 'vitrine_copy',
    tables: bind(MOVED_COPY_TABLES, source),
    read: (work) => connection.read(({ reader }) => work(toPlain(reader))),
    write: (work) => connection.transact((transaction) => work(toPlain(transaction)), 'read committed'),
    sources,
    close: () => closeAll(sources, () => connection.close()),
  }
}

async function openCatalogMove(
  { clock }: CommandContext,
  { name, path, target }: PlannedMove,
  sources: MoveSource[],
): Promise<OpenMove> {
  const source = openMoveSource(path, CATALOG_MIGRATIONS, DATABASES.catalog.what)
  sources.push(source)
  const usagePath = toUsageDatabasePath(path)
  const usage = existsSync(usagePath) ? openMoveSource(usagePath, USAGE_MIGRATIONS, 'catalog usage') : null
  if (usage !== null) sources.push(usage)
  const { read, write, close } = await openCatalogStore({ database: target, clock })
  return {
    name,
    label: describeDatabase(target),
    schema: 'vitrine_catalog',
    tables: [...bind(MOVED_CATALOG_TABLES, source), ...bind(MOVED_USAGE_TABLES, usage)],
    read: (work) => read((reader) => work(toPlain(reader))),
    write: (work) => write((transaction) => work(toPlain(transaction))),
    sources,
    close: () => closeAll(sources, close),
  }
}

function bind(tables: readonly MovedTable[], source: MoveSource | null): Move['tables'] {
  return tables.map((table) => ({ ...table, source: source?.database ?? null }))
}

/** Moved tables are used through SQL only. */
function toPlain(database: Pick<Kysely<never>, 'getExecutor'>): Kysely<unknown> {
  return database as Kysely<unknown>
}

async function closeAll(sources: readonly MoveSource[], close: () => Promise<void>): Promise<void> {
  for (const source of sources) source.close()
  await close()
}

/** Nothing is written to any database before all are checked. */
async function moveAll(
  { io }: CommandContext,
  moves: readonly Move[],
  progress: Progress,
): Promise<readonly (readonly MovedRows[])[]> {
  const plans = []
  for (const move of moves) plans.push({ move, replaced: await checkTarget(move) })
  progress.hasBegun = true
  let count = 0
  const onBatch = (rows: number): void => {
    count += rows
    io.drawProgress(`${pluralize(count, 'row')} …`)
    if (io.signal.aborted)
      throw new MoveError(
        `the move was stopped after ${pluralize(count, 'row')}; run the command again to go on`,
      )
  }
  const results = []
  for (const { move, replaced } of plans) results.push(await moveTables(move, { replaced, onBatch }))
  io.drawProgress('comparing …')
  for (const [index, { move }] of plans.entries()) await verifyTables(move, results[index] ?? [])
  return results
}

function assertUnchanged({ sources, schema }: OpenMove): void {
  const changed = sources.find((source) => source.endSnapshot())
  if (changed !== undefined)
    throw new MoveError(
      `a server wrote to ${changed.path} during the move, and that is missing in PostgreSQL. Stop the server, ${describeCleanup(schema)}, and repeat the move`,
    )
}

function describeMove({ name, sources, label }: OpenMove, rows: readonly MovedRows[]): readonly string[] {
  const width = Math.max(...rows.map(({ table }) => table.length))
  const total = rows.reduce((sum, row) => sum + row.total, 0)
  return [
    `${DATABASES[name].what}: ${sources[0]?.path} to ${label}`,
    ...rows
      .filter((row) => row.total > 0)
      .map((row) => `  ${row.table.padEnd(width)}  ${describeCounts(row)}`),
    `  all ${pluralize(total, 'row')} are in both databases with the same values`,
  ]
}

function describeCounts({ moved, total }: MovedRows): string {
  const present = total - moved
  const parts = [
    `${formatNumber(moved)} moved`,
    ...(present > 0 ? [`${formatNumber(present)} already there`] : []),
  ]
  return parts.join(', ')
}

function toJson({ name, sources, label }: OpenMove, rows: readonly MovedRows[]) {
  const tables = rows.map((row) => ({ ...row, present: row.total - row.moved }))
  return { database: name, from: sources[0]?.path, to: label, tables }
}

/** If it has not begun, repeating the command does not help: the databases could not be opened. */
function toMoveError(error: unknown, { hasBegun }: Progress): unknown {
  if (error instanceof VitrineError && error.remedy !== null) return error
  const failure = findPostgresFailure(error) ?? (error instanceof StoreError ? error : undefined)
  if (failure === undefined) return error
  const advice = hasBegun ? '. Run the command again: it goes on where it stopped' : ''
  return new MoveError(`${failure.message}${advice}`, { cause: error })
}
