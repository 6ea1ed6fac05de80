import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, parse } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { toUsagePath } from '../catalog-service/store/sqlite.ts'
import type { Config } from '../config/config.ts'
import { toOpenError } from '../database/open-failure.ts'
import { copySqlite } from '../database/sqlite.ts'
import { BackupError } from '../errors.ts'
import { type CommandContext, print } from './command.ts'

const BYTES_PER_MB = 1_000_000

/** Only the owner may read a copy while it is written; then it gets the mode of its source. */
const OWNER_ONLY = 0o600

/** A SQLite database, the file that its copy becomes, and the one that it is written to until all copies are complete. */
type Copy = Readonly<{ database: string; source: string; file: string; part: string }>
type LeftOut = Readonly<{ database: string; reason: string }>

/**
 * `vitrine backup FILE`: copy each SQLite database while the server runs. The stored copy becomes FILE, the catalog's
 * databases FILE with a suffix; all of them appear under these names once all are complete.
 * @throws BackupError when a file exists already, or a copy cannot be made. Nothing is written then.
 */
export async function runBackup(context: CommandContext, file: string): Promise<void> {
  const { config, io, json } = context
  const { copies, leftOut } = planBackup(config, file)
  if (copies.length === 0)
    throw new BackupError(`there is no database to back up: ${leftOut.map(({ reason }) => reason).join(' ')}`)
  const folder = dirname(file)
  if (!existsSync(folder)) throw new BackupError(`the folder "${folder}" does not exist; create it first`)
  refuseExisting(copies)
  const made: string[] = []
  try {
    for (const copy of copies) {
      createPart(copy)
      made.push(copy.part)
      copySqlite(copy.source, copy.part)
      chmodSync(copy.part, statSync(copy.source).mode)
      // A copy takes the thread: signals that came meanwhile are heard now.
      await setImmediate()
      if (io.signal.aborted) throw new BackupError('it was stopped; nothing was written')
    }
    refuseExisting(copies)
    for (const copy of copies) renameSync(copy.part, copy.file)
  } finally {
    for (const part of made) rmSync(part, { force: true })
  }
  const files = copies.map(({ part: _part, ...copy }) => ({ ...copy, bytes: statSync(copy.file).size }))
  const lines = files.map((copy) => {
    return `${copy.file}: ${copy.database}, ${(copy.bytes / BYTES_PER_MB).toFixed(1)} MB, copy of ${copy.source}`
  })
  print(context, { files, leftOut }, lines)
  if (!json) for (const { reason } of leftOut) io.err(reason)
}

function planBackup({ database, catalogDatabase, catalog }: Config, file: string) {
  const { dir, name, ext } = parse(file)
  const copies: Copy[] = []
  const leftOut: LeftOut[] = []
  const plan = (database: string, source: string, target: string): void => {
    if (existsSync(source))
      copies.push({ database, source, file: target, part: `${target}.${process.pid}.part` })
    else leftOut.push({ database, reason: `There is no ${database} at ${source} yet.` })
  }
  const leaveOut = (database: string): void => {
    const reason = `The ${database} is on PostgreSQL: back it up with pg_dump.`
    leftOut.push({ database, reason })
  }
  if (database.kind === 'sqlite') plan('stored copy', database.path, file)
  else leaveOut('stored copy')
  if (catalogDatabase.kind === 'postgres') leaveOut('catalog')
  else if (catalog.kind === 'embedded' || existsSync(catalogDatabase.path)) {
    plan('catalog', catalogDatabase.path, join(dir, `${name}-catalog${ext}`))
    const usage = toUsagePath(catalogDatabase.path)
    if (existsSync(usage)) plan('catalog usage', usage, join(dir, `${name}-catalog-usage${ext}`))
  }
  return { copies, leftOut }
}

function refuseExisting(copies: readonly Copy[]): void {
  const taken = copies.find(({ file }) => existsSync(file))
  if (taken !== undefined)
    throw new BackupError(`"${taken.file}" exists already; choose another name, or remove it`)
}

function createPart({ file, part }: Copy): void {
  try {
    closeSync(openSync(part, 'wx', OWNER_ONLY))
  } catch (error) {
    throw toOpenError(file, error)
  }
}
