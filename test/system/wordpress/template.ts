import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DatabaseReference, createDatabase, startDatabase } from './database.ts'
import { assertPrograms } from './programs.ts'
import { installSite } from './site.ts'

/** A database server with an installed WordPress that tests copy. */
export type WordPressTemplate = Readonly<{ template: DatabaseReference; stop(): Promise<void> }>

/** Install the WordPress that all tests copy. */
export async function startWordPressTemplate(): Promise<WordPressTemplate> {
  assertPrograms()
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-wp-db-'))
  const closers = [() => rm(folder, { recursive: true, force: true })]
  const stop = async (): Promise<void> => {
    for (const close of closers.toReversed()) await close()
  }
  try {
    const database = await startDatabase(folder)
    closers.push(database.stop)
    const template = { socket: database.socket, name: 'template' }
    await createDatabase(template)
    await installSite(template)
    return { template, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
