import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

/** An in-memory file system on Linux. On a disk, SQLite waits for each commit. */
const MEMORY_FOLDER = '/dev/shm'

/** Required free bytes; the tests use about a tenth. Containers often have only 64 MB. */
const MIN_FREE_BYTES = 1_000_000_000

/** Create one folder for all files of a test run and remove it afterwards: in memory if there is space, else in `TMPDIR`. */
export function setup({ config }: TestProject): () => void {
  const folder = mkdtempSync(join(findParentFolder(), 'vitrine-run-'))
  config.env = { ...config.env, TMPDIR: folder }
  return () => rmSync(folder, { recursive: true, force: true })
}

function findParentFolder(): string {
  // oxlint-disable-next-line node/no-process-env -- set by the user, not a setting of the program
  if (process.env['TMPDIR'] !== undefined) return tmpdir()
  try {
    accessSync(MEMORY_FOLDER, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
    return bavail * bsize >= MIN_FREE_BYTES ? MEMORY_FOLDER : tmpdir()
  } catch {
    return tmpdir()
  }
}
