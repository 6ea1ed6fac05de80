import type { Config } from '../../config/config.ts'
import { CatalogStatusError, StoreError, StoreNewerError, type VitrineError } from '../../errors.ts'

/** What to do about each failure of a catalog call, by code; the rest is in docs/errors.md. */
const CALL_REMEDIES: Readonly<Record<string, string>> = {
  VITRINE_CATALOG_UNREACHABLE: 'Is VITRINE_CATALOG_URL right, and does this machine reach it?',
  VITRINE_CATALOG_DEADLINE: 'The catalog is slow; VITRINE_CATALOG_TIMEOUT_MS is how long one call may take.',
  VITRINE_CATALOG_KEY_REFUSED:
    'Make a new key where the catalog makes them (Settings, Team, API keys; "vitrine catalog keys add NAME" in a catalog of your own), and set VITRINE_CATALOG_KEY.',
  VITRINE_CATALOG_RATE_LIMITED:
    'The daily limit of the plan is reached; the line about the request limit says until when nothing is called.',
  VITRINE_CALL_NOT_MADE: 'Nothing was called; the line about the request limit says until when, and why.',
  VITRINE_CATALOG_REDIRECT:
    'Set VITRINE_CATALOG_URL to the address that the redirect leads to; redirects are not followed.',
  VITRINE_CATALOG_STATUS: 'VITRINE_CATALOG_URL is the part of the address before /v0.',
  VITRINE_CATALOG_INVALID:
    'What answers there is no product catalog; VITRINE_CATALOG_URL is the part before /v0.',
}

/** The embedded catalog refuses calls only while there is nothing in it. */
const EMPTY_REMEDY =
  'The embedded catalog is empty: "vitrine serve" puts sample data into it, "vitrine catalog import FILE" a feed.'

const CATALOG_FAULT_REMEDY =
  'The catalog answers with an error of its own, which its operator has to correct, unless VITRINE_CATALOG_URL is wrong. What is stored is shown meanwhile.'

/** Failures of a server, or of a gateway before it. */
const SERVER_ERROR = 500

type DatabaseSetting = 'VITRINE_DATABASE_URL' | 'VITRINE_CATALOG_DATABASE_URL'

/** Return what to do about a failure; `setting` names the database that was used. */
export function findRemedy(
  error: VitrineError,
  config: Config,
  setting: DatabaseSetting = 'VITRINE_DATABASE_URL',
): string | undefined {
  if (error instanceof StoreNewerError)
    return `Run the newer version, or name another database in ${setting}.`
  if (error instanceof StoreError)
    return error.remedy === null
      ? adviseDatabase(setting, config)
      : `${error.remedy} The path is that of ${setting}.`
  const isFault = error instanceof CatalogStatusError && error.upstreamStatus >= SERVER_ERROR
  if (isFault && config.catalog.kind === 'remote') return CATALOG_FAULT_REMEDY
  return findRemedyByCode(error.code, config)
}

/** Return what to do about a failure of which only the code was kept. */
export function findRemedyByCode(code: string, config: Config): string | undefined {
  if (code === StoreError.code) return adviseDatabase('VITRINE_DATABASE_URL', config)
  const isEmpty = code === CatalogStatusError.code && config.catalog.kind === 'embedded'
  return isEmpty ? EMPTY_REMEDY : CALL_REMEDIES[code]
}

function adviseDatabase(setting: DatabaseSetting, { database, catalogDatabase }: Config): string {
  const isCopy = setting === 'VITRINE_DATABASE_URL'
  if ((isCopy ? database : catalogDatabase).kind === 'postgres')
    return `Is the server of ${setting} running, and does this machine reach it? Are user, password, database and sslmode right, and may the user make a schema there?`
  const damaged = isCopy ? ' A damaged file may be moved away: the next walk makes a new one.' : ''
  return `Can this user write the folder of ${setting}, and is there space on the disk?${damaged}`
}
