import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DatabasePlace, makeDatabase, startDatabase } from './database.ts'
import { assertPrograms } from './programs.ts'
import { installSite } from './site.ts'

/** A database server, and an installed WordPress on it that is only copied. */
export type WordPress = Readonly<{ template: DatabasePlace; stop(): Promise<void> }>

/** Installs the one WordPress of all tests. */
export async function startWordPress(): Promise<WordPress> {
  assertPrograms()
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-wp-db-'))
  const database = await startDatabase(folder)
  const stop = async (): Promise<void> => {
    await database.stop()
    await rm(folder, { recursive: true, force: true })
  }
  const template = { socket: database.socket, name: 'template' }
  try {
    await makeDatabase(template)
    await installSite(template)
    return { template, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
