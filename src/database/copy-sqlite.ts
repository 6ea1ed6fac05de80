import { closeSync, fsyncSync, openSync } from 'node:fs'
import { BackupError } from '../errors.ts'
import { openSqlite } from './sqlite.ts'

/**
 * Write a consistent copy of the SQLite file at `source` to the empty file `target`, also while other processes write to the
 * source: the copy is what one reading transaction sees. The copy is on the disk when this returns.
 * @throws StoreError when the source cannot be opened; BackupError when the copy cannot be made.
 */
export function copySqlite(source: string, target: string): void {
  const database = openSqlite({ path: source, role: 'writer' })
  try {
    database.prepare('vacuum into ?').run([target])
  } catch (error) {
    const said = error instanceof Error ? error.message : 'unknown reason'
    throw new BackupError(`Cannot copy "${source}" to "${target}": ${said}`, { cause: error })
  } finally {
    database.close()
  }
  const file = openSync(target, 'r+')
  fsyncSync(file)
  closeSync(file)
}
