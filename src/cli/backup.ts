import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, parse } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { toUsageDatabasePath } from '../catalog-service/store/open-store.ts'
import type { Config } from '../config/config.ts'
import { toOpenError } from '../database/failures.ts'
import { copySqlite } from '../database/sqlite.ts'
import { BackupError } from '../errors.ts'
import { type CommandContext, print } from '../command.ts'

const BYTES_PER_MB = 1_000_000

/** Mode of a copy while it is written; a complete copy gets the mode of its source. */
const OWNER_ONLY = 0o600

/** A SQLite database, the file of its copy, and the temporary file that is renamed to it. */
type BackupCopy = Readonly<{ database: string; source: string; file: string; partialFile: string }>
type SkippedDatabase = Readonly<{ database: string; reason: string }>

/**
 * Copy each SQLite database to FILE, or to FILE with a suffix. The files appear only when all copies are complete.
 * @throws BackupError when a file exists already or a copy fails; nothing is written then.
 */
export async function runBackup(context: CommandContext, file: string): Promise<void> {
  const { config, io, isJson } = context
  const { copies, leftOut } = planBackup(config, file)
  if (copies.length === 0)
    throw new BackupError(`there is no database to back up: ${leftOut.map(({ reason }) => reason).join(' ')}`)
  const folder = dirname(file)
  if (!existsSync(folder)) throw new BackupError(`the folder "${folder}" does not exist; create it first`)
  assertNoFileExists(copies)
  const createdFiles: string[] = []
  try {
    for (const copy of copies) {
      createPartialFile(copy)
      createdFiles.push(copy.partialFile)
      copySqlite(copy.source, copy.partialFile)
      chmodSync(copy.partialFile, statSync(copy.source).mode)
      // A copy blocks the thread: handle the signals that arrived in the meantime.
      await setImmediate()
      if (io.signal.aborted) throw new BackupError('the backup was stopped; nothing was written')
    }
    assertNoFileExists(copies)
    for (const copy of copies) renameSync(copy.partialFile, copy.file)
  } finally {
    for (const partialFile of createdFiles) rmSync(partialFile, { force: true })
  }
  const files = copies.map(({ partialFile: _part, ...copy }) => ({
    ...copy,
    bytes: statSync(copy.file).size,
  }))
  const lines = files.map((copy) => {
    return `${copy.file}: ${copy.database}, ${(copy.bytes / BYTES_PER_MB).toFixed(1)} MB, copy of ${copy.source}`
  })
  print(context, { files, leftOut }, lines)
  if (!isJson) for (const { reason } of leftOut) io.err(reason)
}

function planBackup({ database, catalogDatabase, catalog }: Config, file: string) {
  const { dir, name, ext } = parse(file)
  const copies: BackupCopy[] = []
  const leftOut: SkippedDatabase[] = []
  const planCopy = (database: string, source: string, target: string): void => {
    if (existsSync(source))
      copies.push({ database, source, file: target, partialFile: `${target}.${process.pid}.part` })
    else leftOut.push({ database, reason: `There is no ${database} at ${source} yet.` })
  }
  const skip = (database: string): void => {
    const reason = `The ${database} is on PostgreSQL: back it up with pg_dump.`
    leftOut.push({ database, reason })
  }
  if (database.kind === 'sqlite') planCopy('stored copy', database.path, file)
  else skip('stored copy')
  if (catalogDatabase.kind === 'postgres') skip('catalog')
  else if (catalog.kind === 'embedded' || existsSync(catalogDatabase.path)) {
    planCopy('catalog', catalogDatabase.path, join(dir, `${name}-catalog${ext}`))
    const usagePath = toUsageDatabasePath(catalogDatabase.path)
    if (existsSync(usagePath)) planCopy('catalog usage', usagePath, join(dir, `${name}-catalog-usage${ext}`))
  }
  return { copies, leftOut }
}

function assertNoFileExists(copies: readonly BackupCopy[]): void {
  const existing = copies.find(({ file }) => existsSync(file))
  if (existing !== undefined)
    throw new BackupError(`"${existing.file}" exists already; choose another name, or remove it`)
}

function createPartialFile({ file, partialFile }: BackupCopy): void {
  try {
    closeSync(openSync(partialFile, 'wx', OWNER_ONLY))
  } catch (error) {
    throw toOpenError(file, error)
  }
}
