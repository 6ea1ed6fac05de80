import type { Config } from '../../config/config.ts'
import {
  CatalogInvalidError,
  CatalogStatusError,
  CatalogUnreachableError,
  ConfigError,
  StoreError,
  VitrineError,
} from '../../errors.ts'
import {
  findDescribedCode,
  findDescribedRemedy,
  getConnectionRemedy,
  isInvalidCertificate,
} from '../../outgoing/connection-failures.ts'
import { describeStoreFailure } from '../../database/failures.ts'

/** A link without and with a sub-id; `after` is `null` when it stays unchanged. */
export type LinkExample = Readonly<{ before: string; after: string | null }>

/** One result of `vitrine check`. `remedy`: what to do when something is wrong or unexpected. */
export type Finding = Readonly<{
  subject: string
  isGood: boolean
  message: string
  remedy: string | null
  example?: LinkExample
}>

/** Status of the embedded catalog while it is empty. */
const EMPTY_CATALOG_STATUS = 503

export class CheckReport {
  readonly findings: Finding[] = []
  readonly config: Config

  constructor(config: Config) {
    this.config = config
  }

  addOk(subject: string, message: string, remedy: string | null = null, example?: LinkExample): void {
    this.findings.push({ subject, isGood: true, message, remedy, ...(example && { example }) })
  }

  addProblem(subject: string, message: string, remedy: string): void {
    this.findings.push({ subject, isGood: false, message, remedy })
  }

  /** Run one part of the check: a failure becomes a finding with its remedy, and the result is `undefined`. */
  async attempt<T>(subject: string, action: () => Promise<T>): Promise<T | undefined> {
    try {
      return await action()
    } catch (error) {
      if (!(error instanceof VitrineError) || error instanceof ConfigError) throw error
      const isEmpty =
        this.config.catalog.kind === 'embedded' &&
        error instanceof CatalogStatusError &&
        error.upstreamStatus === EMPTY_CATALOG_STATUS
      const message = isEmpty ? 'the catalog is empty' : `${describeError(error)} (${error.code})`
      const setting = subject.startsWith('catalog') ? 'VITRINE_CATALOG_DATABASE_URL' : 'VITRINE_DATABASE_URL'
      this.addProblem(
        subject,
        message,
        findErrorRemedy(error, this.config, { setting }) ?? error.remedy ?? 'See docs/operate/errors.md.',
      )
      return undefined
    }
  }
}

/** Describe a failure. For the stored copy, include the message of the database; never quote the catalog. */
function describeError(error: VitrineError): string {
  if (!(error instanceof StoreError) || error.remedy !== null) return error.message
  const reason = describeStoreFailure(error)
  return error.message.endsWith(reason) ? error.message : `${error.message}: ${reason}`
}

/** What to do about failed catalog calls, by error code; docs/operate/errors.md has the other codes. */
const CALL_REMEDIES: Readonly<Record<string, string>> = {
  VITRINE_CATALOG_UNREACHABLE: 'Check VITRINE_CATALOG_URL, and that this machine can reach it.',
  VITRINE_CATALOG_DEADLINE:
    'The catalog is slow. VITRINE_CATALOG_TIMEOUT_MS limits how long one call may take.',
  VITRINE_CATALOG_KEY_REFUSED:
    'Create a new key in the catalog (Settings, Team, API keys; "vitrine catalog keys add NAME" in your own catalog), and set VITRINE_CATALOG_KEY.',
  VITRINE_CATALOG_RATE_LIMITED:
    'The daily limit of the plan is reached. The line "request limit" of "vitrine check" says until when.',
  VITRINE_CATALOG_CALL_BLOCKED:
    'The catalog was not called. The line "request limit" of "vitrine check" says why and until when.',
  VITRINE_CATALOG_REDIRECT:
    'Set VITRINE_CATALOG_URL to the target of the redirect; the server does not follow redirects.',
  VITRINE_CATALOG_STATUS: 'Check VITRINE_CATALOG_URL: it is the part of the address before /v0.',
  VITRINE_CATALOG_INVALID:
    'The server at this address is not a product catalog. VITRINE_CATALOG_URL is the part of the address before /v0.',
}

const EMPTY_REMEDY =
  'The embedded catalog is empty: "vitrine serve" adds sample data, and "vitrine catalog import FILE" imports a feed.'

const CATALOG_SERVER_ERROR_REMEDY =
  'The catalog reports a server error, which its operator has to fix unless VITRINE_CATALOG_URL is wrong. Until then the stored copy is shown.'

const SERVER_ERROR_STATUS = 500

type DatabaseSetting = 'VITRINE_DATABASE_URL' | 'VITRINE_CATALOG_DATABASE_URL'

/** `setting` names the database that was used. `isCatalogListed`: see `findCodeRemedy`. */
type RemedyOptions = Readonly<{ setting?: DatabaseSetting; isCatalogListed?: boolean }>

export function findErrorRemedy(
  error: VitrineError,
  config: Config,
  { setting = 'VITRINE_DATABASE_URL', isCatalogListed = false }: RemedyOptions = {},
): string | undefined {
  if (error instanceof StoreError) return getStoreRemedy(error, config, setting)
  const isServerError = error instanceof CatalogStatusError && error.upstreamStatus >= SERVER_ERROR_STATUS
  if (isServerError && config.catalog.kind === 'remote') return CATALOG_SERVER_ERROR_REMEDY
  if (error instanceof CatalogUnreachableError)
    return getConnectionRemedy(error.connectionCode, 'VITRINE_CATALOG_URL')
  return findCodeRemedy(error.code, config, { isCatalogListed })
}

function getStoreRemedy(error: StoreError, config: Config, setting: DatabaseSetting): string {
  // The text, because an error of the catalog's thread has lost its causes.
  const code = findDescribedCode(describeError(error))
  if (isInvalidCertificate(code)) return getConnectionRemedy(code, setting)
  if (error.remedy === null) return getDatabaseRemedy(setting, config)
  return `${error.remedy} ${isFile(setting, config) ? 'The path' : 'The address'} is set by ${setting}.`
}

/** The catalog has listed its channels, so it is a catalog: a later response is not as the interface says. */
const CONTRACT_REMEDY =
  'The catalog does not follow its interface here: report this to its operator. Until then the stored copy is shown.'

/** `isCatalogListed`: the catalog has listed its channels. `reason`: the message of the error. */
type CodeOptions = Readonly<{ isCatalogListed?: boolean; reason?: string | null }>

/** Return the remedy when only the error code, and perhaps the reason, was stored. */
export function findCodeRemedy(
  code: string,
  config: Config,
  { isCatalogListed, reason }: CodeOptions = {},
): string | undefined {
  if (code === StoreError.code) return getDatabaseRemedy('VITRINE_DATABASE_URL', config)
  if (code === CatalogInvalidError.code && isCatalogListed === true) return CONTRACT_REMEDY
  const isEmpty = code === CatalogStatusError.code && config.catalog.kind === 'embedded'
  if (isEmpty) return EMPTY_REMEDY
  return findDescribedRemedy(reason ?? '', 'VITRINE_CATALOG_URL') ?? CALL_REMEDIES[code]
}

function isFile(setting: DatabaseSetting, { database, catalogDatabase }: Config): boolean {
  return (setting === 'VITRINE_DATABASE_URL' ? database : catalogDatabase).kind === 'sqlite'
}

function getDatabaseRemedy(setting: DatabaseSetting, config: Config): string {
  const isCopy = setting === 'VITRINE_DATABASE_URL'
  if (!isFile(setting, config))
    return `Check that the server of ${setting} runs and that this machine can reach it. Check user, password, database and sslmode, and that the user owns the schema or may create it.`
  const damageAdvice = isCopy ? ' You can move a damaged file away: the next walk creates a new one.' : ''
  return `Check that this user can write to the folder of ${setting} and that the disk has space.${damageAdvice}`
}
