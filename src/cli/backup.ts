import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, parse } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { toUsagePath } from '../catalog-service/store/sqlite.ts'
import type { Config } from '../config/config.ts'
import { toOpenError } from '../database/open-failure.ts'
import { copySqlite } from '../database/sqlite.ts'
import { BackupError } from '../errors.ts'
import type { CommandContext } from './command.ts'
import { toPlain, toPlainJson } from './output.ts'

const BYTES_PER_MB = 1_000_000

/** Only the owner may read a copy while it is written; then it gets the mode of its source. */
const OWNER_ONLY = 0o600

/** A SQLite database, and the file that its copy becomes. */
type Source = Readonly<{ database: string; source: string; file: string }>
type LeftOut = Readonly<{ database: string; reason: string }>

/**
 * `vitrine backup FILE`: copy each SQLite database while the server runs. The stored copy becomes FILE, the catalog's
 * databases FILE with a suffix; all of them appear under these names once all are complete.
 * @throws BackupError when a file exists already, or a copy cannot be made. Nothing is written then.
 */
export async function runBackup({ config, io, json }: CommandContext, file: string): Promise<void> {
  const { sources, leftOut } = planBackup(config, file)
  if (sources.length === 0)
    throw new BackupError(`there is no database to back up: ${leftOut.map(({ reason }) => reason).join(' ')}`)
  const folder = dirname(file)
  if (!existsSync(folder)) throw new BackupError(`the folder "${folder}" does not exist; create it first`)
  refuseExisting(sources)
  const made: string[] = []
  try {
    for (const source of sources) {
      const part = createPart(source.file)
      made.push(part)
      copySqlite(source.source, part)
      chmodSync(part, statSync(source.source).mode)
      // A copy takes the thread: signals that came meanwhile are heard now.
      await setImmediate()
      if (io.signal.aborted) throw new BackupError('it was stopped; nothing was written')
    }
    refuseExisting(sources)
    for (const { file: target } of sources) renameSync(toPartPath(target), target)
  } finally {
    for (const part of made) rmSync(part, { force: true })
  }
  const files = sources.map((source) => ({ ...source, bytes: statSync(source.file).size }))
  if (json) return io.out(toPlainJson({ files, leftOut }))
  for (const { database, source, file: copy, bytes } of files) {
    const size = `${(bytes / BYTES_PER_MB).toFixed(1)} MB`
    io.out(toPlain(`${copy}: ${database}, ${size}, copy of ${source}`))
  }
  for (const { reason } of leftOut) io.err(`${toPlain(reason)}\n`)
}

function planBackup(
  config: Config,
  file: string,
): Readonly<{ sources: readonly Source[]; leftOut: readonly LeftOut[] }> {
  const { dir, name, ext } = parse(file)
  const sources: Source[] = []
  const leftOut: LeftOut[] = []
  const plan = (database: string, source: string, target: string): void => {
    if (existsSync(source)) sources.push({ database, source, file: target })
    else leftOut.push({ database, reason: `There is no ${database} at ${source} yet.` })
  }
  if (config.database.kind === 'sqlite') plan('stored copy', config.database.path, file)
  else leftOut.push(toServerNote('stored copy'))
  const { catalogDatabase: catalog } = config
  if (catalog.kind === 'sqlite' && (config.catalog.kind === 'embedded' || existsSync(catalog.path))) {
    plan('catalog', catalog.path, join(dir, `${name}-catalog${ext}`))
    const usage = toUsagePath(catalog.path)
    if (existsSync(usage)) plan('catalog usage', usage, join(dir, `${name}-catalog-usage${ext}`))
  }
  if (catalog.kind === 'postgres') leftOut.push(toServerNote('catalog'))
  return { sources, leftOut }
}

function toServerNote(database: string): LeftOut {
  return { database, reason: `The ${database} is on PostgreSQL: back it up with pg_dump.` }
}

function refuseExisting(sources: readonly Source[]): void {
  const taken = sources.find(({ file }) => existsSync(file))
  if (taken !== undefined)
    throw new BackupError(`"${taken.file}" exists already; choose another name, or remove it`)
}

/** Create the file that the copy is written to; it gets its name when all copies are complete. */
function createPart(file: string): string {
  const part = toPartPath(file)
  try {
    closeSync(openSync(part, 'wx', OWNER_ONLY))
    return part
  } catch (error) {
    throw toOpenError(file, error)
  }
}

function toPartPath(file: string): string {
  return `${file}.${process.pid}.part`
}
