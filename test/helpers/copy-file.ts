import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCopyDatabase } from '../../src/storage/dialects.ts'

/** A SQLite file for a stored copy, in a folder of its own. */
export type CopyFile = Readonly<{ folder: string; path: string; remove(): Promise<void> }>

/** Makes one that has all tables and no rows. Its migrations run once a process: they would take longer than most tests. */
export async function makeCopyFile(): Promise<CopyFile> {
  migrated ??= migrate()
  const file = await makePlace()
  await writeFile(file.path, await migrated)
  return file
}

let migrated: Promise<Buffer> | undefined

async function migrate(): Promise<Buffer> {
  const { path, remove } = await makePlace()
  const database = await openCopyDatabase({ kind: 'sqlite', path })
  await database.close()
  const bytes = await readFile(path)
  await remove()
  return bytes
}

async function makePlace(): Promise<CopyFile> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-test-'))
  return {
    folder,
    path: join(folder, 'copy.db'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
