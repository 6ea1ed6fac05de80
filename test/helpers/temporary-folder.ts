import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

/** A file system in memory, on Linux. SQLite waits for the disk at every commit, which says nothing of the program. */
const MEMORY_FOLDER = '/dev/shm'

/** Free bytes there from which on the tests have enough: they use about a tenth. Containers often have 64 MB. */
const MIN_FREE_BYTES = 1_000_000_000

/** Give all test files of a run one folder for what they write, and remove it after them: in memory where there is room, else below `TMPDIR`. */
export function setup({ config }: TestProject): () => void {
  const folder = mkdtempSync(join(findParentFolder(), 'vitrine-run-'))
  config.env = { ...config.env, TMPDIR: folder }
  return () => rmSync(folder, { recursive: true, force: true })
}

function findParentFolder(): string {
  // oxlint-disable-next-line node/no-process-env -- who sets it has chosen
  if (process.env['TMPDIR'] !== undefined) return tmpdir()
  try {
    accessSync(MEMORY_FOLDER, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
    return bavail * bsize >= MIN_FREE_BYTES ? MEMORY_FOLDER : tmpdir()
  } catch {
    return tmpdir()
  }
}
