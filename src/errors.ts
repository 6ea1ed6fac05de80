/** Every error of the project. Messages never hold a key, a query string or a body of the catalog. */
export abstract class VitrineError extends Error {
  override readonly name: string = this.constructor.name
  /** Stable identifier, `VITRINE_…`, a heading in docs/operate/errors.md; every class that is thrown has its own. */
  readonly code: string = (this.constructor as unknown as Readonly<{ code: string }>).code
  /** Plain words for the one who made the request; constants and names of parameters only. */
  readonly publicMessage: string = 'Something went wrong on this server.'
}

/** Throw this when settings are unknown, missing or malformed. The process ends with exit code 78. */
export class ConfigError extends VitrineError {
  static readonly code = 'VITRINE_CONFIG_INVALID'
  /** One line a bad setting; names and expectations, never values. */
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`settings are not usable:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

/** What the catalog did instead of answering; the base of all its failures, a 404 look-up excepted. */
export abstract class CatalogError extends VitrineError {
  override readonly publicMessage: string = 'The product catalog gave no usable answer.'
}

/** Throw this when no connection came about or it broke: refused, reset, name not found, TLS. */
export class CatalogUnreachableError extends CatalogError {
  static readonly code = 'VITRINE_CATALOG_UNREACHABLE'
}

/** Throw this when connection, headers and body were not complete within the one deadline. */
export class CatalogDeadlineError extends CatalogError {
  static readonly code = 'VITRINE_CATALOG_DEADLINE'
}

/** Throw this for a 401 or 403: the key is missing, wrong or revoked. */
export class CatalogKeyRefusedError extends CatalogError {
  static readonly code = 'VITRINE_CATALOG_KEY_REFUSED'
  override readonly publicMessage: string = 'The product catalog refused the key of this server.'
}

/** Throw this for a 429: the plan's daily request limit is reached. */
export class CatalogRateLimitedError extends CatalogError {
  static readonly code = 'VITRINE_CATALOG_RATE_LIMITED'
  override readonly publicMessage: string = 'The daily request limit of the product catalog is reached.'
  /** How long the catalog asks to wait; `null` when it sent no usable `Retry-After`. */
  readonly retryAfterMs: number | null

  constructor(message: string, retryAfterMs: number | null) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** Throw this for a 3xx: redirects are never followed, the key would follow them. */
export class CatalogRedirectError extends CatalogError {
  static readonly code = 'VITRINE_CATALOG_REDIRECT'
}

/** Throw this for any other status that is not 200. */
export class CatalogStatusError extends CatalogError {
  static readonly code = 'VITRINE_CATALOG_STATUS'
  readonly upstreamStatus: number

  constructor(message: string, upstreamStatus: number) {
    super(message)
    this.upstreamStatus = upstreamStatus
  }
}

/** Throw this when an answer is larger than `VITRINE_CATALOG_MAX_BYTES`, decompressed. */
export class CatalogTooLargeError extends CatalogError {
  static readonly code = 'VITRINE_CATALOG_TOO_LARGE'
}

/** Throw this when a 200 is not what the contract describes: no JSON, no page, another product, unknown encoding. */
export class CatalogInvalidError extends CatalogError {
  static readonly code = 'VITRINE_CATALOG_INVALID'
}

/** Throw this when a call was not made: a failure is remembered, the limit is reached, or the look-up budget is spent. */
export class CatalogCallBlockedError extends CatalogError {
  static readonly code = 'VITRINE_CATALOG_CALL_BLOCKED'
}

/** Throw this when there is neither an answer nor a copy that may be shown. */
export class UnavailableError extends VitrineError {
  static readonly code = 'VITRINE_UNAVAILABLE'
  override readonly publicMessage: string = 'No usable data yet; this is tried again at the next visit.'
}

/** A mistake in an address; its author reads `publicMessage`. */
export abstract class RequestError extends VitrineError {
  /** HTTP status of the response. */
  abstract readonly statusCode: number
}

/** Throw this when a query parameter that we know has a bad value, or stands twice where it is single. */
export class BadOptionError extends RequestError {
  static readonly code = 'VITRINE_BAD_OPTION'
  readonly statusCode = 400
  override readonly publicMessage: string

  constructor(parameter: string, accepts: string) {
    super(`bad value for the parameter ${parameter}`)
    this.publicMessage = `The parameter "${parameter}" accepts ${accepts}.`
  }
}

/** Throw this when a GTIN of an address is not 1 to 14 digits. */
export class InvalidGtinError extends VitrineError {
  static readonly code = 'VITRINE_INVALID_GTIN'
  override readonly publicMessage: string = 'A GTIN is 1 to 14 digits, without spaces or hyphens.'
}

/** Throw this when a fetched list of channels lacks the channel, or `VITRINE_CHANNELS` does not serve it. */
export class UnknownChannelError extends RequestError {
  static readonly code = 'VITRINE_UNKNOWN_CHANNEL'
  readonly statusCode = 404
  override readonly publicMessage: string =
    'This server serves no channel of that id. The ids are on its /studio page and in "vitrine check".'
}

/** Throw this for an address that this server does not have. */
export class UnknownAddressError extends RequestError {
  static readonly code = 'VITRINE_UNKNOWN_ADDRESS'
  readonly statusCode = 404
  override readonly publicMessage: string = 'This server has no such address.'
}

/** Throw this when the link of a frame leads to an offer that the catalog no longer has. */
export class OfferGoneError extends RequestError {
  static readonly code = 'VITRINE_OFFER_GONE'
  readonly statusCode = 404
  override readonly publicMessage: string =
    'The shop no longer has this offer. The page that you came from shows the others.'
}

/** Throw this when an oEmbed question cannot be answered: 400 it is none, 404 there is nothing at its address, 501 another format. */
export class OembedError extends RequestError {
  static readonly code = 'VITRINE_OEMBED'
  readonly statusCode: number
  override readonly publicMessage: string

  constructor(statusCode: 400 | 404 | 501, publicMessage: string) {
    super(publicMessage)
    this.statusCode = statusCode
    this.publicMessage = publicMessage
  }
}

/** Throw this when the database cannot be opened, read or written. A page still renders: memory and catalog go on. */
export class StoreError extends VitrineError {
  static readonly code = 'VITRINE_STORE_FAILED'
  override readonly publicMessage: string =
    'The stored copy cannot be read. "vitrine check" says why; boxes go on from memory and catalog.'
  /** What to do about it, as a sentence; `null` when the cause is not known that well. */
  readonly remedy: string | null
  /** Was a server not even asked, because it could not be reached just before? */
  readonly isUnreachable: boolean

  constructor(
    message: string,
    options: ErrorOptions & Readonly<{ remedy?: string | null; isUnreachable?: boolean }> = {},
  ) {
    super(message, options)
    this.remedy = options.remedy ?? null
    this.isUnreachable = options.isUnreachable ?? false
  }
}

/** Throw this when a database was made by a newer version: it is left as it is. */
export class StoreNewerError extends VitrineError {
  static readonly code = 'VITRINE_STORE_NEWER'
}

/** Throw this when the walk of a channel could not be finished; the old copy stays and the next walk resumes. */
export class WalkError extends VitrineError {
  static readonly code = 'VITRINE_WALK_FAILED'
}

/** Throw this when the catalog lists no channels where it listed some: that is not believed at once. */
export class WalkHeldError extends VitrineError {
  static readonly code = 'VITRINE_WALK_HELD'
}

/** Throw this when the catalog lists no channel that this server serves: there is nothing to walk or to show. */
export class NoChannelsError extends VitrineError {
  static readonly code = 'VITRINE_NO_CHANNELS'
}

/** Throw this when a process that answers does not come up at the start of the server. */
export class WorkerError extends VitrineError {
  static readonly code = 'VITRINE_WORKER_FAILED'
}

/** Throw this when a feed cannot be imported as a whole: unreadable, truncated, no product. Nothing is changed. */
export class ImportError extends VitrineError {
  static readonly code = 'VITRINE_IMPORT_FAILED'
}

/** Throw this when a backup cannot be made. Nothing was written. */
export class BackupError extends VitrineError {
  static readonly code = 'VITRINE_BACKUP_FAILED'
}

/** Throw this when a command was called with something it cannot use. The process ends with exit code 64. */
export class UsageError extends VitrineError {
  static readonly code = 'VITRINE_USAGE'
}

/** Throw this inside the catalog service to answer `{ "error": … }` with a status of the contract. */
export class CatalogServiceError extends VitrineError {
  static readonly code = 'VITRINE_CATALOG_SERVICE_ERROR'
  readonly statusCode: number
  override readonly publicMessage: string
  /** When it is worth to ask again; `null` when that is not known. */
  readonly retryAfterSeconds: number | null

  constructor(statusCode: number, publicMessage: string, retryAfterSeconds: number | null = null) {
    super(publicMessage)
    this.statusCode = statusCode
    this.publicMessage = publicMessage
    this.retryAfterSeconds = retryAfterSeconds
  }
}
