import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { FAKE_KEY, type FaultHandler } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import {
  type FaultRow,
  GOOD_BODY,
  REDIRECT,
  REFUSED,
  STATUS,
  succeed,
  fail,
  limit,
  toLongestPauseMs,
} from './matrix.ts'

/** Send a valid product with every status: if the server used the body by mistake, the test would see it. */
const respond =
  (status: number, headers: Readonly<Record<string, string>> = {}): FaultHandler =>
  (_request, response) => {
    const mayHaveBody = status !== 204 && status !== 304
    response.writeHead(status, headers).end(mayHaveBody ? GOOD_BODY : undefined)
  }

/** Redirect to another address of the fake catalog, where a call would count as one more look-up. */
const redirect =
  (status: number, host: '127.0.0.1' | 'localhost'): FaultHandler =>
  (request, response) => {
    const location = `http://${host}:${request.socket.localPort}/v0/elsewhere/products/1`
    response.writeHead(status, { location }).end()
  }

const PLAIN_STATUSES = [
  204, 206, 400, 402, 405, 408, 409, 410, 418, 421, 425, 451, 500, 501, 502, 503, 504, 508, 511, 520, 599,
]

const REDIRECTS: readonly FaultRow[] = [
  fail('300 without a location', REDIRECT, respond(300)),
  fail('301 to another host', REDIRECT, redirect(301, 'localhost')),
  fail('302 to a file', REDIRECT, respond(302, { location: 'file:///etc/passwd' })),
  fail('303 to the same host', REDIRECT, redirect(303, '127.0.0.1')),
  fail('unrequested 304', REDIRECT, respond(304, { etag: '"x"' })),
  fail('307 to another host', REDIRECT, redirect(307, 'localhost')),
  fail('308 to the same host', REDIRECT, redirect(308, '127.0.0.1')),
  fail('308 to itself', REDIRECT, (request, response) =>
    response.writeHead(308, { location: request.url ?? '/' }).end(),
  ),
]

const toMinute = (): number => MINUTE_MS
const date = new Date(NOON_MS + DAY_MS)
const inTwoMinutes = new Date(date.getTime() + 2 * MINUTE_MS)
/** Later than the start of every test, and earlier than the longest pause. */
const evening = new Date(NOON_MS + 6 * HOUR_MS)

const LIMITS: readonly FaultRow[] = [
  limit('429, Retry-After in seconds', { 'retry-after': '120' }, () => 120 * SECOND_MS),
  limit('429, Retry-After of an hour', { 'retry-after': '3600' }, () => HOUR_MS),
  limit('429, Retry-After of nine digits', { 'retry-after': '999999999' }, toLongestPauseMs),
  limit(
    '429, Retry-After as a date after the Date header',
    { date: date.toUTCString(), 'retry-after': inTwoMinutes.toUTCString() },
    () => 2 * MINUTE_MS,
  ),
  limit(
    '429, Retry-After as a date, no Date header',
    { 'retry-after': evening.toUTCString() },
    (nowMs) => evening.getTime() - nowMs,
  ),
  limit(
    '429, Retry-After as a date of next year',
    { 'retry-after': 'Fri, 01 Jan 2027 00:00:00 GMT' },
    (nowMs) => toLongestPauseMs(nowMs),
  ),
  limit(
    '429, Retry-After as a past date',
    { date: inTwoMinutes.toUTCString(), 'retry-after': date.toUTCString() },
    toMinute,
  ),
  limit('429, Retry-After as a date in another format', { 'retry-after': evening.toISOString() }, toMinute),
  limit('429, Retry-After 0', { 'retry-after': '0' }, toMinute),
  limit('429, Retry-After -5', { 'retry-after': '-5' }, toMinute),
  limit('429, Retry-After 1.5', { 'retry-after': '1.5' }, toMinute),
  limit('429, Retry-After 1e9', { 'retry-after': '1e9' }, toMinute),
  limit('429, Retry-After of 20 digits', { 'retry-after': '1'.repeat(20) }, toMinute),
  limit('429, Retry-After tomorrow', { 'retry-after': 'tomorrow' }, toMinute),
  limit('429, Retry-After that is the key', { 'retry-after': FAKE_KEY }, toMinute),
  limit('429, Retry-After absent', {}, toMinute),
  limit('429, Retry-After empty', { 'retry-after': '' }, toMinute),
]

/** Look-ups whose response has a status other than 200. */
export const STATUS_FAULTS: readonly FaultRow[] = [
  ...PLAIN_STATUSES.map((status) => fail(String(status), STATUS, respond(status))),
  ...REDIRECTS,
  fail('401', REFUSED, respond(401)),
  fail('401 that echoes the key', REFUSED, (_request, response) =>
    response.writeHead(401, FAKE_KEY, { 'www-authenticate': `Bearer realm="${FAKE_KEY}"` }).end(FAKE_KEY),
  ),
  fail('403', REFUSED, respond(403)),
  ...LIMITS,
  succeed('404', 'absence', respond(404)),
  succeed('404 whose body never ends', 'absence', (_request, response) =>
    response.writeHead(404).write(GOOD_BODY),
  ),
  fail('500 whose body never ends', STATUS, (_request, response) => response.writeHead(500).write(GOOD_BODY)),
  fail('500 that echoes the key', STATUS, (request, response) =>
    response
      .writeHead(500, FAKE_KEY, { 'x-key': FAKE_KEY })
      .end(`{"error":"${request.headers.authorization}"}`),
  ),
]
