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
import { type FailureSurface, toFailureResponse, normalizeError } from '../../src/routes/failures.ts'

const SURFACES: readonly FailureSurface[] = ['fragment', 'embed', 'page']

/** status, body, state and cacheability: for fragment and embed, then for a page of this server. */
const ROWS: readonly (readonly [error: unknown, article: string, page: string])[] = [
  [new InvalidGtinError('x'), '200 empty invalid cacheable', '200 empty invalid cacheable'],
  [new BadOptionError('theme', 'x'), '400 message invalid', '400 message invalid'],
  [new UnknownChannelError('x'), '404 message invalid', '404 message invalid'],
  [new UnknownAddressError('x'), '404 message invalid', '404 message invalid'],
  [new UnavailableError('x'), '200 empty unavailable', '503 message unavailable'],
  [new CatalogDeadlineError('x'), '200 empty unavailable', '500 message unavailable'],
  [new CatalogKeyRefusedError('x'), '200 empty unavailable', '500 message unavailable'],
  [new StoreError('x'), '200 empty unavailable', '503 message unavailable'],
  [new Error('a bug'), '200 empty unavailable', '500 message unavailable'],
  ['no error at all', '200 empty unavailable', '500 message unavailable'],
]

describe('response to a failure', () => {
  const cells = ROWS.flatMap(([error, article, page]) =>
    SURFACES.map((surface) => [String(error), surface, surface === 'page' ? page : article, error] as const),
  )

  test.each(cells)('%s at %s - %s', (...cell) => {
    const [, surface, expected, error] = cell
    const { status, body, state, isCacheable, message } = toFailureResponse(error, surface)
    expect(`${status} ${body} ${state}${isCacheable ? ' cacheable' : ''}`).toBe(expected)
    expect(message ?? '').not.toContain('bug')
  })
})

describe('malformed percent-encoding', () => {
  const malformed = Object.assign(new Error('x'), { status: 400 })

  test('in a GTIN - invalid GTIN; elsewhere - unknown address', () => {
    expect(normalizeError(malformed, '/a/where-to-buy/%')).toBeInstanceOf(InvalidGtinError)
    expect(normalizeError(new URIError('x'), '/a/deals/%')).toBeInstanceOf(UnknownAddressError)
  })

  test('any other error - is unchanged', () => {
    const error = new StoreError('x')
    expect(normalizeError(error, '/a/where-to-buy/1')).toBe(error)
  })
})
