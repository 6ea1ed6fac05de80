import { describe, expect, test } from 'vitest'
import {
  BadOptionError,
  CatalogCallBlockedError,
  CatalogDeadlineError,
  CatalogError,
  CatalogInvalidError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogRedirectError,
  CatalogStatusError,
  CatalogTooLargeError,
  CatalogUnreachableError,
  ConfigError,
  FileError,
  ImportError,
  InvalidGtinError,
  ListenError,
  RequestError,
  CatalogServiceError,
  StoreError,
  StoreNewerError,
  StoreOlderError,
  UnavailableError,
  UnknownAddressError,
  UnknownChannelError,
  UsageError,
  VitrineError,
  WalkError,
} from '../src/errors.ts'

/** A detail that only the log may contain. */
const SECRET_DETAIL = 'connect ECONNREFUSED 10.0.0.7:443'
const NO_RESPONSE = 'The product catalog sent no usable response.'
const GENERIC = 'Something went wrong on this server.'

/** Errors of the catalog with their public messages. */
const CATALOG_ERRORS: readonly (readonly [error: CatalogError, message: string])[] = [
  [new CatalogUnreachableError(SECRET_DETAIL), NO_RESPONSE],
  [new CatalogDeadlineError(SECRET_DETAIL), NO_RESPONSE],
  [new CatalogKeyRefusedError(SECRET_DETAIL), 'The product catalog refused the key of this server.'],
  [
    new CatalogRateLimitedError(SECRET_DETAIL, null),
    'The daily request limit of the product catalog is reached.',
  ],
  [new CatalogRedirectError(SECRET_DETAIL), NO_RESPONSE],
  [new CatalogStatusError(SECRET_DETAIL, 500), NO_RESPONSE],
  [new CatalogTooLargeError(SECRET_DETAIL), NO_RESPONSE],
  [new CatalogInvalidError(SECRET_DETAIL), NO_RESPONSE],
  [new CatalogCallBlockedError(SECRET_DETAIL), NO_RESPONSE],
]

/** Errors of this server with their public messages. */
const SERVER_ERRORS: readonly (readonly [error: VitrineError, message: string])[] = [
  [new UnavailableError(SECRET_DETAIL), 'No usable data yet. The server tries again at the next visit.'],
  [
    new InvalidGtinError(SECRET_DETAIL),
    'A GTIN is 1 to 14 digits, without spaces or hyphens. Correct the GTIN.',
  ],
  [
    new UnknownChannelError(SECRET_DETAIL),
    'This server does not serve a channel with this id. Find the ids on its /studio page or with "vitrine check".',
  ],
  [new UnknownAddressError(SECRET_DETAIL), 'This server has no such address.'],
  [
    new StoreError(SECRET_DETAIL),
    'The stored copy cannot be read. Boxes in memory are still shown; with SQLite, others come from the catalog. Run "vitrine check" to see the cause.',
  ],
  [new StoreNewerError(SECRET_DETAIL), GENERIC],
  [new StoreOlderError(SECRET_DETAIL), GENERIC],
  [new ListenError(SECRET_DETAIL, { remedy: SECRET_DETAIL }), GENERIC],
  [new FileError(SECRET_DETAIL, { remedy: SECRET_DETAIL }), GENERIC],
  [new WalkError(SECRET_DETAIL), GENERIC],
  [new ImportError(SECRET_DETAIL), GENERIC],
  [new UsageError(SECRET_DETAIL), GENERIC],
  [new ConfigError([SECRET_DETAIL]), GENERIC],
]

const withNames = <T extends readonly [VitrineError, ...unknown[]]>(rows: readonly T[]) =>
  rows.map((row) => [row[0].name, ...row] as const)

describe('errors of the catalog', () => {
  test.each(withNames(CATALOG_ERRORS))('%s - public message is constant text', (_name, error, message) => {
    expect(error.publicMessage).toBe(message)
    expect(error).toBeInstanceOf(CatalogError)
    expect(error.message).toBe(SECRET_DETAIL)
  })

  test.each([0, 1, 86_400_000, null])('rate limit - exposes the wait of %j ms', (retryAfterMs) => {
    expect(new CatalogRateLimitedError(SECRET_DETAIL, retryAfterMs).retryAfterMs).toBe(retryAfterMs)
  })

  test('status error - exposes the status of the catalog', () => {
    expect(new CatalogStatusError(SECRET_DETAIL, 404).upstreamStatus).toBe(404)
  })
})

describe('errors of this server', () => {
  test.each(withNames(SERVER_ERRORS))('%s - public message is constant text', (_name, error, message) => {
    expect(error.publicMessage).toBe(message)
    expect(error).toBeInstanceOf(VitrineError)
    expect(error).not.toBeInstanceOf(CatalogError)
  })

  test.each([new UnknownChannelError(SECRET_DETAIL), new UnknownAddressError(SECRET_DETAIL)])(
    '%s - is 404',
    (error) => {
      expect(error).toBeInstanceOf(RequestError)
      expect(error.statusCode).toBe(404)
    },
  )

  test('invalid option - names the parameter and the accepted values, not the given value', () => {
    const error = new BadOptionError('theme', 'light or dark')
    expect([error.statusCode, error.publicMessage, error.message]).toEqual([
      400,
      'The parameter "theme" accepts light or dark.',
      'bad value for the parameter theme',
    ])
  })

  test('error of the catalog service - has its status, and the same text for both sides', () => {
    const error = new CatalogServiceError(429, 'the daily request limit is reached')
    expect([error.statusCode, error.publicMessage, error.message]).toEqual([
      429,
      'the daily request limit is reached',
      'the daily request limit is reached',
    ])
    expect(error).not.toBeInstanceOf(CatalogError)
  })

  test('settings - several problems - one line for each, and a list', () => {
    const problems = ['VITRINE_PORT: a whole number', 'VITRINE_LOST: unknown']
    const error = new ConfigError(problems)
    expect(error.problems).toEqual(problems)
    expect(error.message).toBe('invalid settings:\n  VITRINE_PORT: a whole number\n  VITRINE_LOST: unknown')
  })
})

describe('all errors', () => {
  test.each(withNames([...CATALOG_ERRORS, ...SERVER_ERRORS]))(
    '%s - thrown - shows its name before the message, and its code in the log',
    (name, error) => {
      expect(name).toBe(error.constructor.name)
      expect(String(error)).toMatch(new RegExp(`^${name}: `))
      expect(error.code).toMatch(/^VITRINE_[A-Z_]+$/)
      expect(error.stack).toContain(error.message)
    },
  )
})
