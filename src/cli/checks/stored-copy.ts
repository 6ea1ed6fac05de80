import { labelDatabase } from '../../config/database-address.ts'
import { StoreError } from '../../errors.ts'
import type { SqlStore } from '../../storage/sql-store.ts'
import { isReadOnly } from '../../storage/unavailable.ts'
import { type Finding, type Report, bad, good } from './findings.ts'
import { findRemedyByCode } from './remedies.ts'

const SUBJECT = 'stored copy'

const READ_ONLY_REMEDY =
  'Fail over, or point VITRINE_DATABASE_URL to the primary. What is stored is shown meanwhile; nothing is refreshed or walked.'

/** Look for damage, and whether the database takes writes. @throws StoreError when it cannot be read. */
export async function checkStoredCopy({ config }: Report, store: SqlStore): Promise<Finding> {
  const { database } = config
  const label = labelDatabase(database)
  const damage = await store.findDamage()
  if (damage !== null)
    return bad(SUBJECT, `${label} is damaged: ${damage}`, findRemedyByCode(StoreError.code, config) ?? '')
  if (await isOnlyRead(store))
    return bad(SUBJECT, `${label} opens, but it only reads, as a standby does`, READ_ONLY_REMEDY)
  const hasContent = (await store.findChannelList()) !== undefined
  const isOpen = database.kind === 'postgres' && database.tls === 'disable' && !isLocal(database.host)
  return good(
    SUBJECT,
    `${label} opens${hasContent ? '' : '; it has nothing of this catalog yet'}`,
    isOpen ? 'Nothing is encrypted on the way there; sslmode=verify-full in its address changes that.' : null,
  )
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

function isLocal(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || host.startsWith('127.')
}
