/** Base of all errors of the project. Messages never contain a key, a query string or a body of the catalog. */
export abstract class VitrineError extends Error {
  override readonly name: string = this.constructor.name
  /** Stable identifier `VITRINE_…`, a heading in docs/operate/errors.md. Every class that is thrown has its own. */
  readonly code: string = (this.constructor as unknown as Readonly<{ code: string }>).code
  /** Text for the client that made the request. It contains only constants and names of parameters. */
  readonly publicMessage: string = 'Something went wrong on this server.'
  /** What to do, as a sentence; `null` when the message says it, or the cause is unknown. */
  readonly remedy: string | null

  constructor(message: string, { remedy = null, ...options }: VitrineErrorOptions = {}) {
    super(message, options)
    this.remedy = remedy
  }

  /** Return the message and, if there is one, what to do. */
  describeWithRemedy(): string {
    return this.remedy === null ? this.message : `${this.message}. ${this.remedy}`
  }
}

type VitrineErrorOptions = ErrorOptions & Readonly<{ remedy?: string | null }>

/** Throw this when settings are unknown, missing or malformed. The process ends with exit code 78. */
export class ConfigError extends VitrineError {
  static readonly code = 'VITRINE_CONFIG_INVALID'
  /** One line for each invalid setting, with its name and the expected value; never the given value. */
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`invalid settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

/** Throw this when the server cannot listen now, but may later: a restart can help. The process ends with exit code 1. */
export class ListenError extends VitrineError {
  static readonly code = 'VITRINE_LISTEN_FAILED'
}

/** Throw this when a file that a setting names cannot be read now, but may later. The process ends with exit code 1. */
export class FileError extends VitrineError {
  static readonly code = 'VITRINE_FILE_UNREADABLE'
}

/** Base of all failed catalog calls. A look-up that ends with 404 is not a failure. */
export abstract class CatalogError extends VitrineError {
  override readonly publicMessage: string = 'The product catalog sent no usable response.'
}

/** Throw this when there is no connection or it broke: refused, reset, name not found, TLS. */
export class CatalogUnreachableError extends CatalogError {
  static readonly code = 'VITRINE_CATALOG_UNREACHABLE'
  /** Code of the failed connection, such as `ECONNREFUSED`. */
  readonly connectionCode: string | undefined

  constructor(message: string, connectionCode?: string) {
    super(message)
    this.connectionCode = connectionCode
  }
}

/** Throw this when the whole response did not arrive before the deadline of the call. */
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
  /** How long the catalog asks the client to wait; `null` when it sent no valid `Retry-After`. */
  readonly retryAfterMs: number | null

  constructor(message: string, retryAfterMs: number | null) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** Throw this for a 3xx. Redirects are never followed, because the key would be sent along. */
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

/** Throw this when a decompressed response is larger than `VITRINE_CATALOG_MAX_BYTES`. */
export class CatalogTooLargeError extends CatalogError {
  static readonly code = 'VITRINE_CATALOG_TOO_LARGE'
}

/** Throw this when a 200 violates the contract: no JSON, no page, another product, unknown encoding. */
export class CatalogInvalidError extends CatalogError {
  static readonly code = 'VITRINE_CATALOG_INVALID'
}

/** Throw this when no call was made: calls are paused after a failure, or a limit is reached. */
export class CatalogCallBlockedError extends CatalogError {
  static readonly code = 'VITRINE_CATALOG_CALL_BLOCKED'
}

/** Throw this when there is neither a response nor a copy that may be shown. */
export class UnavailableError extends VitrineError {
  static readonly code = 'VITRINE_UNAVAILABLE'
  override readonly publicMessage: string = 'No usable data yet. The server tries again at the next visit.'
  /** Whether nothing is known about the data, because the database could not be read. */
  readonly isUnread: boolean

  constructor(
    message: string,
    { isUnread = false, ...options }: VitrineErrorOptions & Readonly<{ isUnread?: boolean }> = {},
  ) {
    super(message, options)
    this.isUnread = isUnread
  }
}

/** An invalid address. Its author reads `publicMessage`. */
export abstract class RequestError extends VitrineError {
  abstract readonly statusCode: number
}

/** Throw this when a known query parameter has an invalid value, or a single-value parameter is repeated. */
export class BadOptionError extends RequestError {
  static readonly code = 'VITRINE_BAD_OPTION'
  readonly statusCode = 400
  override readonly publicMessage: string

  constructor(parameter: string, accepts: string) {
    super(`bad value for the parameter ${parameter}`)
    this.publicMessage = `The parameter "${parameter}" accepts ${accepts}.`
  }
}

/** Longest part of an address in a message. */
const MAX_SHOWN_CHARACTERS = 40

/** Throw this when the GTIN in an address is not 1 to 14 digits. */
export class InvalidGtinError extends VitrineError {
  static readonly code = 'VITRINE_INVALID_GTIN'
  override readonly publicMessage: string

  /** `part`: the text in the address that is no GTIN. */
  constructor(message: string, part?: string) {
    super(message)
    const subject = part === undefined ? 'the GTIN' : `"${part.slice(0, MAX_SHOWN_CHARACTERS)}"`
    this.publicMessage = `A GTIN is 1 to 14 digits, without spaces or hyphens. Correct ${subject}.`
  }
}

/** Throw this when an address has too few or too many GTINs. */
export class GtinCountError extends VitrineError {
  static readonly code = 'VITRINE_GTIN_COUNT'
  override readonly publicMessage: string

  constructor(expected: string) {
    super('wrong number of GTINs in the address')
    this.publicMessage = expected
  }
}

/** Throw this when the catalog does not list the channel, or `VITRINE_CHANNELS` excludes it. */
export class UnknownChannelError extends RequestError {
  static readonly code = 'VITRINE_UNKNOWN_CHANNEL'
  readonly statusCode = 404
  override readonly publicMessage: string =
    'This server does not serve a channel with this id. Find the ids on its /studio page or with "vitrine check".'
}

/** Throw this for an address that this server does not have. */
export class UnknownAddressError extends RequestError {
  static readonly code = 'VITRINE_UNKNOWN_ADDRESS'
  readonly statusCode = 404
  override readonly publicMessage: string = 'This server has no such address.'
}

/** Throw this for addresses that a setting opens. `message` is a constant. */
export class ClosedAddressError extends RequestError {
  static readonly code = 'VITRINE_CLOSED_ADDRESS'
  readonly statusCode = 404
  override readonly publicMessage: string = this.message
}

/** Throw this when a link in a frame leads to an offer that the catalog no longer has. */
export class OfferGoneError extends RequestError {
  static readonly code = 'VITRINE_OFFER_GONE'
  readonly statusCode = 404
  override readonly publicMessage: string =
    'The shop no longer has this offer. Reload the page you came from to see the current offers.'
}

/** Throw this for a bad oEmbed request. 400: invalid; 404: no embed at its address; 501: unsupported format. */
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

/** Throw this when the database cannot be opened, read or written. Pages still render from memory, with SQLite also from the catalog. */
export class StoreError extends VitrineError {
  static readonly code = 'VITRINE_STORE_FAILED'
  override readonly publicMessage: string =
    'The stored copy cannot be read. Boxes in memory are still shown; with SQLite, others come from the catalog. Run "vitrine check" to see the cause.'
  /** Whether no request was sent because the database server was unreachable a moment ago. */
  readonly isUnreachable: boolean

  constructor(
    message: string,
    { isUnreachable = false, ...options }: VitrineErrorOptions & Readonly<{ isUnreachable?: boolean }> = {},
  ) {
    super(message, options)
    this.isUnreachable = isUnreachable
  }
}

/** Base of errors about a database of another version, which is not changed. Only an operator can remedy them. */
export abstract class StoreVersionError extends VitrineError {}

/** Throw this when a newer version created the database. */
export class StoreNewerError extends StoreVersionError {
  static readonly code = 'VITRINE_STORE_NEWER'
}

/** Throw this when a build before 1.0.0 created the database. */
export class StoreOlderError extends StoreVersionError {
  static readonly code = 'VITRINE_STORE_OLDER'
}

/** Throw this when a walk could not finish. The old copy stays, and the next walk resumes. */
export class WalkError extends VitrineError {
  static readonly code = 'VITRINE_WALK_FAILED'
}

/** Throw this when the catalog suddenly lists no channels: the list is held until it is confirmed. */
export class WalkHeldError extends VitrineError {
  static readonly code = 'VITRINE_WALK_HELD'
}

/** Throw this when the catalog lists no channel that this server serves. */
export class NoChannelsError extends VitrineError {
  static readonly code = 'VITRINE_NO_CHANNELS'
}

/**
 * Why a picture cannot be shown. `busy`: too many others wait; `disk`: it cannot be stored. These two say nothing about the
 * picture, so they are not remembered.
 */
export type PictureFailure =
  | 'private_address'
  | 'redirects'
  | 'unreachable'
  | 'timeout'
  | 'status'
  | 'too_large'
  | 'format'
  | 'too_many_pixels'
  | 'damaged'
  | 'busy'
  | 'disk'

/** Throw this when a picture cannot be fetched, checked, converted or stored. Visitors get a stand-in. */
export class PictureError extends VitrineError {
  static readonly code = 'VITRINE_PICTURE_FAILED'
  readonly failure: PictureFailure

  constructor(failure: PictureFailure, options: ErrorOptions = {}) {
    super(`the picture cannot be shown: ${failure}`, options)
    this.failure = failure
  }
}

/** Throw this when a worker does not start. */
export class WorkerError extends VitrineError {
  static readonly code = 'VITRINE_WORKER_FAILED'
}

/** Throw this when a feed is unreadable, truncated or without a product. Nothing is changed. */
export class ImportError extends VitrineError {
  static readonly code = 'VITRINE_IMPORT_FAILED'
}

/** Throw this when a feed cannot be fetched from its address. Nothing is changed. */
export class FeedFetchError extends VitrineError {
  static readonly code = 'VITRINE_FEED_FETCH_FAILED'
  /** How long the server asked not to be called again; `null`: it did not. */
  readonly retryAfterMs: number | null

  constructor(message: string, { retryAfterMs = null, ...options }: FeedFetchErrorOptions = {}) {
    super(message, options)
    this.retryAfterMs = retryAfterMs
  }
}

type FeedFetchErrorOptions = ErrorOptions & Readonly<{ retryAfterMs?: number | null }>

/** Throw this when the thread of a feed's run ends without a result: a bug, or too little memory. Nothing is changed. */
export class FeedThreadError extends VitrineError {
  static readonly code = 'VITRINE_FEED_THREAD_FAILED'
}

/** Throw this when a run would remove more offers of a feed than allowed. Nothing is changed. */
export class FeedHeldError extends VitrineError {
  static readonly code = 'VITRINE_FEED_HELD'
}

/** Throw this when a backup fails. No file was written. */
export class BackupError extends VitrineError {
  static readonly code = 'VITRINE_BACKUP_FAILED'
}

/** Throw this when a database cannot be moved. The source is never changed. */
export class MoveError extends VitrineError {
  static readonly code = 'VITRINE_MOVE_FAILED'
}

/** Throw this when a command or argument is invalid. The process ends with exit code 64. */
export class UsageError extends VitrineError {
  static readonly code = 'VITRINE_USAGE'
}

/** Throw this in the catalog service to respond with `{ "error": … }` and a status of the contract. */
export class CatalogServiceError extends VitrineError {
  static readonly code = 'VITRINE_CATALOG_SERVICE_ERROR'
  readonly statusCode: number
  override readonly publicMessage: string
  /** Value of `Retry-After`; `null` when unknown. */
  readonly retryAfterSeconds: number | null

  constructor(statusCode: number, publicMessage: string, retryAfterSeconds: number | null = null) {
    super(publicMessage)
    this.statusCode = statusCode
    this.publicMessage = publicMessage
    this.retryAfterSeconds = retryAfterSeconds
  }
}
