import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCopyDatabase } from '../../src/storage/copy-database.ts'

/** A SQLite file for a stored copy, in its own folder. */
export type CopyFile = Readonly<{ folder: string; path: string; remove(): Promise<void> }>

/** Create a file with all tables and no rows. Migrations run once per process, because they are slower than most tests. */
export async function makeCopyFile(): Promise<CopyFile> {
  migratedBytes ??= createMigratedBytes()
  const file = await makeTemporaryPath()
  await writeFile(file.path, await migratedBytes)
  return file
}

let migratedBytes: Promise<Buffer> | undefined

async function createMigratedBytes(): Promise<Buffer> {
  const { path, remove } = await makeTemporaryPath()
  const database = await openCopyDatabase({ kind: 'sqlite', path })
  await database.close()
  const bytes = await readFile(path)
  await remove()
  return bytes
}

async function makeTemporaryPath(): Promise<CopyFile> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-test-'))
  return {
    folder,
    path: join(folder, 'copy.db'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
