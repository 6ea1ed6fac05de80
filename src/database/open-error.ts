import { accessSync, constants, existsSync, readlinkSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { StoreError, VitrineError } from '../errors.ts'

type Explanation = Readonly<{ reason: string; remedy: string }>

/** Primary result codes of SQLite. An extended code contains one of them in its lowest byte. */
const SQLITE_CORRUPT = 11
const SQLITE_FULL = 13
const SQLITE_NOTADB = 26
const PRIMARY_CODE_BITS = 0xff

const READ_ONLY: Explanation = {
  reason: 'the file system is read-only',
  remedy: 'Mount it with write access, or choose another path.',
}

/** Return the error to throw when the file at `path` cannot be opened. SQLite gives no reason, so this checks the file system. */
export function toOpenError(path: string, error: unknown): VitrineError {
  const isExplained = error instanceof VitrineError && !(error instanceof StoreError && error.remedy === null)
  if (isExplained) return error
  const explanation = explain(path, findErrorCode(error))
  if (explanation !== undefined) {
    const { reason, remedy } = explanation
    return new StoreError(`Cannot open the database "${path}": ${reason}`, { cause: error, remedy })
  }
  if (error instanceof VitrineError) return error
  const message = error instanceof Error ? error.message : 'unknown reason'
  return new StoreError(`Cannot open the database "${path}": ${message}`, { cause: error })
}

function explain(path: string, code: number | string | undefined): Explanation | undefined {
  const folder = findExistingFolder(path)
  if (code === SQLITE_FULL || code === 'ENOSPC' || code === 'EDQUOT')
    return { reason: 'the disk is full', remedy: `Free space on the disk of the folder "${folder}".` }
  if (code === 'EROFS') return READ_ONLY
  if (code === SQLITE_NOTADB)
    return {
      reason: 'the file is not a database',
      remedy: 'Choose another path, or move the file away: the server then creates a new database.',
    }
  if (code === SQLITE_CORRUPT)
    return {
      reason: 'the file is damaged',
      remedy: 'Restore a backup, or move the file away: the server then creates a new database.',
    }
  return explainPath(path, folder) ?? explainRefusal(code, `the folder "${folder}"`)
}

function explainPath(path: string, folder: string): Explanation | undefined {
  const link = findDanglingLink(path)
  if (link !== undefined)
    return {
      reason: `"${link.path}" is a link to "${link.target}", which does not exist`,
      remedy: 'Mount the volume of its target, or create the target.',
    }
  if (!isFolder(folder)) return { reason: `"${folder}" is not a folder`, remedy: 'Choose another path.' }
  if (isFolder(path)) return { reason: 'it is a folder', remedy: 'Choose the path of a file.' }
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const refusal = explainRefusal(findRefusal(file, constants.R_OK | constants.W_OK), `the file "${file}"`)
    if (refusal !== undefined) return refusal
  }
  return explainRefusal(findRefusal(folder, constants.W_OK | constants.X_OK), `the folder "${folder}"`)
}

function explainRefusal(code: number | string | undefined, target: string): Explanation | undefined {
  if (code === 'EROFS') return READ_ONLY
  if (code !== 'EACCES' && code !== 'EPERM') return undefined
  return { reason: 'permission denied', remedy: `Give the server's user write access to ${target}.` }
}

/** Return the folder of the file, or its nearest existing parent. */
function findExistingFolder(path: string): string {
  const folder = dirname(path)
  if (folder === '.') return resolve(folder)
  return existsSync(folder) || folder === dirname(folder) ? folder : findExistingFolder(folder)
}

/** Find the part of the path that is a link to something missing. */
function findDanglingLink(path: string): Readonly<{ path: string; target: string }> | undefined {
  if (existsSync(path) || dirname(path) === path) return undefined
  try {
    return { path, target: readlinkSync(path) }
  } catch {
    return findDanglingLink(dirname(path))
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** Return the system error code of a failed access check; `undefined` when access is granted. */
function findRefusal(path: string, mode: number): string | undefined {
  try {
    accessSync(path, mode)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}

/** Return SQLite's primary result code or the system's error code, searching the causes of an error. */
export function findErrorCode(error: unknown): number | string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode & PRIMARY_CODE_BITS
  return findErrorCode(error.cause) ?? (error as NodeJS.ErrnoException).code
}
