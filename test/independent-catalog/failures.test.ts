import { describe, expect, test } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import type { Answer, Call, Freedoms } from './catalog.ts'
import {
  type Case,
  FAILED_LOOK_UP,
  GOOD,
  NOT_FOUND,
  UNAVAILABLE,
  expectFailedWalk,
  expectNothing,
} from './expected.ts'
import { type Observation, observe } from './observe.ts'
import { selectCases } from '../helpers/property-runs.ts'

const HTML = '<!doctype html><title>Maintenance</title>'

const respond = (status: number, headers: Answer['headers'] = {}, body = '{"error":"x"}'): Answer => ({
  status,
  headers,
  body,
})

const always = (answer: Answer): Partial<Freedoms> => ({ intercept: () => answer })

/** Answer the first calls of an operation. */
const only = (operation: Call['operation'], answer: Answer, times = Infinity): Partial<Freedoms> => ({
  intercept: (call, nth) => (call.operation === operation && nth <= times ? answer : undefined),
})

const REFUSED = expectNothing('VITRINE_CATALOG_KEY_REFUSED.*Create a new key', 'channels', 'channels')

/** Section 5: "A missing, wrong or revoked key yields 401". */
const KEYS: readonly Case[] = [
  ['wrong key', {}, REFUSED, { key: 'another-key' }],
  [
    '401 in HTML',
    always(respond(401, { 'content-type': 'text/html', 'www-authenticate': 'Bearer' }, HTML)),
    REFUSED,
  ],
  ['401 without a body', always({ status: 401 }), REFUSED],
  ['403', always(respond(403)), REFUSED],
]

/** Calls pause after a 429: the box of the first call is the only one that the catalog sees. */
function expectPause(coldCalls: string): Partial<Observation> {
  return {
    cold: { ...UNAVAILABLE, calls: coldCalls },
    warm: UNAVAILABLE,
    walk: { outcome: 'none', calls: '' },
    grid: UNAVAILABLE,
    copy: UNAVAILABLE,
    check: { wrong: PAUSED, calls: '' },
    explain: { says: expect.stringMatching(/The daily limit of the plan is reached/), calls: '' },
  }
}

const PAUSED = [
  expect.stringMatching(/^catalog and key: calls to the catalog are paused: its request limit was reached/),
  expect.stringMatching(/^request limit: reached: no catalog calls until/),
]

const toDate = (fromNowMs: number): string => new Date(Date.now() + fromNowMs).toUTCString()

const limit = (retryAfter: string | null): Answer => respond(429, { 'retry-after': retryAfter })

/** Section 7: "the plan's daily request limit is reached"; "response carries `Retry-After`", in any form that HTTP has. */
const LIMITS: readonly Case[] = [
  ['Retry-After in seconds', always(limit('120')), expectPause('channels')],
  ['Retry-After as a date', { intercept: () => limit(toDate(HOUR_MS)) }, expectPause('channels')],
  ['Retry-After in words', always(limit('soon')), expectPause('channels')],
  ['a negative Retry-After', always(limit('-5')), expectPause('channels')],
  ['a fraction as Retry-After', always(limit('1.5')), expectPause('channels')],
  [
    'a date that has passed as Retry-After',
    { intercept: () => limit(toDate(-MINUTE_MS)) },
    expectPause('channels'),
  ],
  ['no Retry-After', always(limit(null)), expectPause('channels')],
  [
    '429 in HTML',
    always(respond(429, { 'retry-after': '120', 'content-type': 'text/html' }, HTML)),
    expectPause('channels'),
  ],
  ['429 for a look-up', only('look-up', limit('120')), expectPause('channels look-up')],
  [
    '429 for a page',
    only('page', limit('120')),
    {
      walk: { outcome: 'failed, the catalog responded with status 429', calls: 'channels page' },
      grid: UNAVAILABLE,
      copy: UNAVAILABLE,
      check: { wrong: [...PAUSED, expect.stringMatching(/not walked yet/)], calls: '' },
      explain: { says: 'A box is shown: 3 offers.', calls: '' },
    },
  ],
]

const status = (code: number): string => `the catalog responded with status ${code}`

/** A server error is forgotten after seconds, so that the grid after the walk asks again. */
const expectServerError = (code: number): Partial<Observation> => ({
  ...expectNothing(`${status(code)}.*server error`, 'channels x4'),
  grid: { ...UNAVAILABLE, calls: 'channels' },
})

/** "Other status codes and the body of 404: not shown." */
const STATUSES: readonly Case[] = [
  ['500 in HTML', always(respond(500, { 'content-type': 'text/html' }, HTML)), expectServerError(500)],
  ['503 with Retry-After', always(respond(503, { 'retry-after': '120' })), expectServerError(503)],
  [
    '404 for everything',
    always(respond(404)),
    expectNothing(`${status(404)}.*Check VITRINE_CATALOG_URL`, 'channels'),
  ],
  ['204', always({ status: 204 }), expectNothing(status(204), 'channels')],
  [
    '200 in HTML',
    always(respond(200, { 'content-type': 'text/html' }, HTML)),
    expectNothing('not JSON.*is not a product catalog', 'channels x4'),
  ],
  ['200 without a body', always(respond(200, {}, '')), expectNothing('not JSON', 'channels x4')],
  [
    'a redirect to the same host',
    always(respond(301, { location: '/v0/channels/' })),
    expectNothing('redirects are not followed.*Set VITRINE_CATALOG_URL', 'channels x4'),
  ],
  [
    'a redirect to a login page',
    always(respond(302, { location: 'https://login.example/' })),
    expectNothing('redirects are not followed.*Set VITRINE_CATALOG_URL', 'channels x4'),
  ],
  [
    'a page fails once',
    only('page', respond(502, {}, HTML), 1),
    { walk: { outcome: 'complete', calls: 'channels page x2' } },
  ],
  [
    'a page fails three times',
    only('page', respond(502, {}, HTML), 3),
    { walk: { outcome: 'complete', calls: 'channels page x4' } },
  ],
  [
    'every page is HTML',
    only('page', respond(200, {}, HTML)),
    expectFailedWalk('the response is not JSON in UTF-8', 'channels page x4'),
  ],
  ['400 for every page', only('page', respond(400)), expectFailedWalk(status(400), 'channels page')],
  ['404 for every page', only('page', respond(404)), expectFailedWalk(status(404), 'channels page')],
  ['404 without a body', only('look-up', { status: 404 }), NOT_FOUND],
  ['404 in HTML', only('look-up', respond(404, { 'content-type': 'text/html' }, HTML)), NOT_FOUND],
  ['an error with status 200', only('look-up', respond(200)), FAILED_LOOK_UP],
  ['410', only('look-up', respond(410)), FAILED_LOOK_UP],
]

describe.each<[string, readonly Case[]]>([
  ['key', KEYS],
  ['limit', LIMITS],
  ['status', STATUSES],
])('%s of another catalog', (_section, cases) => {
  test.each(selectCases(cases).map((one) => [one[0], one] as const))(
    '%s - right for readers and operators, with the fewest calls',
    async (_name, [, freedoms, expected, setup]) => {
      expect(await observe(freedoms, setup)).toEqual({ ...GOOD, ...expected })
    },
  )
})
