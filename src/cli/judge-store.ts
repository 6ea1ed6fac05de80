import type { Config } from '../config/config.ts'
import type { DatabaseAddress } from '../config/database-address.ts'
import { labelDatabase } from '../config/database-address.ts'
import { isReadOnly } from '../storage/unavailable.ts'
import type { SqlStore } from '../storage/sql-store.ts'
import { StoreError } from '../errors.ts'
import { READ_ONLY_CURE } from './cures.ts'
import { type Finding, bad, good } from './findings.ts'

const SUBJECT = 'stored copy'

/** Look for damage, and whether the database takes writes. */
export async function judgeStore(
  { database }: Config,
  store: SqlStore,
  cures: Readonly<Record<string, string>>,
): Promise<Finding> {
  const label = labelDatabase(database)
  const damage = await store.findDamage()
  if (damage !== null) return bad(SUBJECT, `${label} is damaged: ${damage}`, cures[StoreError.code] ?? '')
  return (await isOnlyRead(store))
    ? bad(SUBJECT, `${label} opens, but it only reads, as a standby does`, READ_ONLY_CURE)
    : good(SUBJECT, `${label} ${await describeContent(store)}`, findTlsHint(database))
}

async function describeContent(store: SqlStore): Promise<string> {
  return (await store.findChannelList()) === undefined ? 'opens; it has nothing of this catalog yet' : 'opens'
}

async function isOnlyRead(store: SqlStore): Promise<boolean> {
  try {
    await store.checkWritable()
    return false
  } catch (error) {
    if (isReadOnly(error)) return true
    throw error
  }
}

/** Not wrong, and perhaps not known. */
function findTlsHint(database: DatabaseAddress): string | null {
  const isOpen = database.kind === 'postgres' && database.tls === 'disable' && !isLocal(database.host)
  return isOpen
    ? 'Nothing is encrypted on the way there; sslmode=verify-full in its address changes that.'
    : null
}

function isLocal(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || host.startsWith('127.')
}
