import type { Config } from '../config/config.ts'
import { CatalogStatusError, StoreError, type VitrineError } from '../errors.ts'

/** What to do about each failure, by code; the rest is in docs/errors.md. */
const CURES: Readonly<Record<string, string>> = {
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
  VITRINE_STORE_FAILED:
    'Can this user write the folder of VITRINE_DATABASE_URL, and is there space on the disk? A damaged file may be moved away: the next walk makes a new one.',
  VITRINE_STORE_NEWER: 'Run the newer version, or name another file in VITRINE_DATABASE_URL.',
}

/** What differs when the databases are on a server. */
const SERVER_CURE =
  'Does the server run, are host, user, password, database and sslmode of the address right, and may that user make a schema in the database?'

/** What to do about a server that only reads. */
export const READ_ONLY_CURE =
  'Fail over, or point VITRINE_DATABASE_URL to the primary. What is stored is shown meanwhile; nothing is refreshed or walked.'

/** What differs when the catalog is the embedded one: it refuses only while there is nothing in it. */
const EMBEDDED_CURES: Readonly<Record<string, string>> = {
  ...CURES,
  VITRINE_CATALOG_STATUS:
    'The embedded catalog is empty: "vitrine serve" puts sample data into it, "vitrine catalog import FILE" a feed.',
  VITRINE_STORE_FAILED:
    'Can this user write the folders of the two databases, and is there space on the disk?',
}

/** What to do about each failure, by its code, where databases and catalog are what these settings say. */
export function findCures({ catalog, database }: Config): Readonly<Record<string, string>> {
  const cures = catalog.kind === 'embedded' ? EMBEDDED_CURES : CURES
  return database.kind === 'postgres' ? { ...cures, VITRINE_STORE_FAILED: SERVER_CURE } : cures
}

/** Failures of a server, or of a gateway before it. */
const SERVER_ERROR = 500

/** What to do about a failed call, by its status or by its code; the embedded catalog fails only while it is empty. */
export function findCallRemedy(
  error: VitrineError,
  { cures, isEmbedded }: Readonly<{ cures: Readonly<Record<string, string>>; isEmbedded: boolean }>,
): string | undefined {
  const isFault = error instanceof CatalogStatusError && error.upstreamStatus >= SERVER_ERROR
  return isFault && !isEmbedded ? CATALOG_FAULT_REMEDY : cures[error.code]
}

const CATALOG_FAULT_REMEDY =
  'The catalog answers with an error of its own, which its operator has to correct, unless VITRINE_CATALOG_URL is wrong. What is stored is shown meanwhile.'

/** What to do about a database that cannot be opened, with the setting that names it; `undefined` for any other error. */
export function findRemedy(error: unknown, subject: string): string | undefined {
  if (!(error instanceof StoreError) || error.remedy === null) return undefined
  const setting = subject === 'stored copy' ? 'VITRINE_DATABASE_URL' : 'VITRINE_CATALOG_DATABASE_URL'
  return `${error.remedy} The path is that of ${setting}.`
}
