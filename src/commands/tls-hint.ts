import type { DatabaseAddress } from '../config/config.ts'

/** What to know of a database on another machine to which nothing is encrypted; that may be meant so. */
export function findTlsHint(database: DatabaseAddress): string | null {
  const isOpen = database.kind === 'postgres' && database.tls === 'disable' && !isLocal(database.host)
  return isOpen
    ? 'Nothing is encrypted on the way there; sslmode=verify-full in its address changes that.'
    : null
}

function isLocal(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || host.startsWith('127.')
}
