import { describe, expect, test } from 'vitest'
import {
  BadOptionError,
  CatalogDeadlineError,
  CatalogKeyRefusedError,
  InvalidGtinError,
  StoreError,
  UnavailableError,
  UnknownAddressError,
  UnknownChannelError,
} from '../../src/errors.ts'
import { type FailureSurface, toFailureForm, toKnownError } from '../../src/routes/failures.ts'

const SURFACES: readonly FailureSurface[] = ['fragment', 'embed', 'page']

/** status, form, state and whether caches may keep it: for fragment and embed, then for a page of our own. */
const ROWS: readonly (readonly [error: unknown, article: string, page: string])[] = [
  [new InvalidGtinError('x'), '200 empty invalid kept', '200 empty invalid kept'],
  [new BadOptionError('theme', 'x'), '400 mistake invalid', '400 mistake invalid'],
  [new UnknownChannelError('x'), '404 mistake invalid', '404 mistake invalid'],
  [new UnknownAddressError('x'), '404 mistake invalid', '404 mistake invalid'],
  [new UnavailableError('x'), '200 empty unavailable', '503 mistake unavailable'],
  [new CatalogDeadlineError('x'), '200 empty unavailable', '500 mistake unavailable'],
  [new CatalogKeyRefusedError('x'), '200 empty unavailable', '500 mistake unavailable'],
  [new StoreError('x'), '200 empty unavailable', '503 mistake unavailable'],
  [new Error('a bug'), '200 empty unavailable', '500 mistake unavailable'],
  ['no error at all', '200 empty unavailable', '500 mistake unavailable'],
]

describe('form of a failure', () => {
  const cells = ROWS.flatMap(([error, article, page]) =>
    SURFACES.map((surface) => [String(error), surface, surface === 'page' ? page : article, error] as const),
  )

  test.each(cells)('%s at %s - %s', (...cell) => {
    const [, surface, expected, error] = cell
    const { status, form, state, isCacheable, message } = toFailureForm(error, surface)
    expect(`${status} ${form} ${state}${isCacheable ? ' kept' : ''}`).toBe(expected)
    expect(message ?? '').not.toContain('bug')
  })
})

describe('malformed percent-encoding', () => {
  const malformed = Object.assign(new Error('x'), { status: 400 })

  test('in the place of a GTIN - is a GTIN that is none; elsewhere - an unknown address', () => {
    expect(toKnownError(malformed, '/a/where-to-buy/%')).toBeInstanceOf(InvalidGtinError)
    expect(toKnownError(new URIError('x'), '/a/deals/%')).toBeInstanceOf(UnknownAddressError)
  })

  test('any other error - stays itself', () => {
    const error = new StoreError('x')
    expect(toKnownError(error, '/a/where-to-buy/1')).toBe(error)
  })
})
