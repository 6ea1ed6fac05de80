import type { Channel } from '../../catalog/contract.ts'
import type { Config } from '../../config/config.ts'
import { CatalogStatusError, ConfigError, StoreError, StoreNewerError, VitrineError } from '../../errors.ts'
import { describeStoreFailure } from '../../storage/store-failures.ts'

/** One thing that `vitrine check` tried. `cure` says what to do when it is wrong, or may be unexpected. */
export type Finding = Readonly<{ subject: string; isGood: boolean; message: string; remedy: string | null }>

/** Status of the embedded catalog while it has no data. */
const EMPTY_CATALOG_STATUS = 503

/** What was found so far, with these settings. */
export class CheckReport {
  readonly findings: Finding[] = []
  readonly config: Config

  constructor(config: Config) {
    this.config = config
  }

  /** Note what works; with a `cure` where it may be unexpected. */
  addOk(subject: string, message: string, remedy: string | null = null): void {
    this.findings.push({ subject, isGood: true, message, remedy })
  }

  /** Note what is wrong, and what to do about it. */
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
      const message = isEmpty ? 'it is empty' : `${describeError(error)} (${error.code})`
      const setting = subject.startsWith('catalog') ? 'VITRINE_CATALOG_DATABASE_URL' : 'VITRINE_DATABASE_URL'
      this.addProblem(
        subject,
        message,
        findErrorRemedy(error, this.config, setting) ?? 'See docs/operate/errors.md.',
      )
      return undefined
    }
  }
}

/** A failure of the store, and what its database said; of the catalog's only our own words are told. */
function describeError(error: VitrineError): string {
  if (!(error instanceof StoreError) || error.remedy !== null) return error.message
  const reason = describeStoreFailure(error)
  return error.message.endsWith(reason) ? error.message : `${error.message}: ${reason}`
}

/** What to do about each failure of a catalog call, by code; the rest is in docs/operate/errors.md. */
const CALL_REMEDIES: Readonly<Record<string, string>> = {
  VITRINE_CATALOG_UNREACHABLE: 'Is VITRINE_CATALOG_URL right, and does this machine reach it?',
  VITRINE_CATALOG_DEADLINE: 'The catalog is slow; VITRINE_CATALOG_TIMEOUT_MS is how long one call may take.',
  VITRINE_CATALOG_KEY_REFUSED:
    'Make a new key where the catalog makes them (Settings, Team, API keys; "vitrine catalog keys add NAME" in a catalog of your own), and set VITRINE_CATALOG_KEY.',
  VITRINE_CATALOG_RATE_LIMITED:
    'The daily limit of the plan is reached; the line about the request limit says until when nothing is called.',
  VITRINE_CATALOG_CALL_BLOCKED:
    'Nothing was called; the line about the request limit says until when, and why.',
  VITRINE_CATALOG_REDIRECT:
    'Set VITRINE_CATALOG_URL to the address that the redirect leads to; redirects are not followed.',
  VITRINE_CATALOG_STATUS: 'VITRINE_CATALOG_URL is the part of the address before /v0.',
  VITRINE_CATALOG_INVALID:
    'What answers there is no product catalog; VITRINE_CATALOG_URL is the part before /v0.',
}

/** The embedded catalog refuses calls only while there is nothing in it. */
const EMPTY_REMEDY =
  'The embedded catalog is empty: "vitrine serve" puts sample data into it, "vitrine catalog import FILE" a feed.'

const CATALOG_SERVER_ERROR_REMEDY =
  'The catalog answers with an error of its own, which its operator has to correct, unless VITRINE_CATALOG_URL is wrong. What is stored is shown meanwhile.'

/** Failures of a server, or of a gateway before it. */
const SERVER_ERROR_STATUS = 500

type DatabaseSetting = 'VITRINE_DATABASE_URL' | 'VITRINE_CATALOG_DATABASE_URL'

/** Return what to do about a failure; `setting` names the database that was used. */
export function findErrorRemedy(
  error: VitrineError,
  config: Config,
  setting: DatabaseSetting = 'VITRINE_DATABASE_URL',
): string | undefined {
  if (error instanceof StoreNewerError)
    return `Run the newer version, or name another database in ${setting}.`
  if (error instanceof StoreError)
    return error.remedy === null
      ? getDatabaseRemedy(setting, config)
      : `${error.remedy} The path is that of ${setting}.`
  const isServerError = error instanceof CatalogStatusError && error.upstreamStatus >= SERVER_ERROR_STATUS
  if (isServerError && config.catalog.kind === 'remote') return CATALOG_SERVER_ERROR_REMEDY
  return findCodeRemedy(error.code, config)
}

/** Return what to do about a failure of which only the code was kept. */
export function findCodeRemedy(code: string, config: Config): string | undefined {
  if (code === StoreError.code) return getDatabaseRemedy('VITRINE_DATABASE_URL', config)
  const isEmpty = code === CatalogStatusError.code && config.catalog.kind === 'embedded'
  return isEmpty ? EMPTY_REMEDY : CALL_REMEDIES[code]
}

function getDatabaseRemedy(setting: DatabaseSetting, { database, catalogDatabase }: Config): string {
  const isCopy = setting === 'VITRINE_DATABASE_URL'
  if ((isCopy ? database : catalogDatabase).kind === 'postgres')
    return `Is the server of ${setting} running, and does this machine reach it? Are user, password, database and sslmode right, and may the user make a schema there?`
  const damageAdvice = isCopy ? ' A damaged file may be moved away: the next walk makes a new one.' : ''
  return `Can this user write the folder of ${setting}, and is there space on the disk?${damageAdvice}`
}

/** What to do for a channel whose boxes only this server's own pages may frame; `null` when other sites may. */
export function findFrameOriginHint(config: Config, channel: Pick<Channel, 'id' | 'url'>): string | null {
  if (channel.url !== null || config.frameAncestors.length > 0) return null
  const isEmbedded = config.catalog.kind === 'embedded'
  const commandAdvice = isEmbedded
    ? `run "vitrine catalog channels set ${channel.id} --url https://YOUR-SITE", or `
    : ''
  return `The channel has no address, so browsers refuse its frames on your site: ${commandAdvice}set VITRINE_FRAME_ANCESTORS to the site's origin.`
}
