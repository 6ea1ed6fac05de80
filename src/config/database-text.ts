import { StoreError } from '../errors.ts'
import type { DatabaseAddress } from './config.ts'
import { databaseAddress } from './readers.ts'

/** An address as a text that travels to another thread of this process; with its password, so nowhere else. */
export function toDatabaseText(address: DatabaseAddress): string {
  return address.kind === 'sqlite' ? `sqlite:${address.path}` : address.text.reveal()
}

/** The address of such a text. @throws StoreError when it is none. */
export function parseDatabaseText(text: string): DatabaseAddress {
  const address = text === 'sqlite::memory:' ? IN_MEMORY : databaseAddress.read(text)
  if (address === undefined) throw new StoreError('the address of a database was lost on its way to a thread')
  return address
}

const IN_MEMORY: DatabaseAddress = { kind: 'sqlite', path: ':memory:' }

/** What may be told to anybody: a file, or a server without user and password. */
export function labelDatabase(address: DatabaseAddress): string {
  return address.kind === 'sqlite' ? address.path : address.label
}
