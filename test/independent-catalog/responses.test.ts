import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../src/clock.ts'
import { type Freedoms, PLAIN, type Sendable } from './catalog.ts'
import { type Case, GOOD } from './expected.ts'
import { type Observation, observe } from './observe.ts'
import { selectCases } from '../helpers/property-runs.ts'

const withHeaders = (headers: Readonly<Record<string, string | null>>): Partial<Freedoms> => ({
  headers: () => headers,
})

const toHead = ({ status, headers }: Sendable, version: string): string =>
  `HTTP/${version} ${status} \r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

/** Send bytes without the rules of Node's server, and close the connection. */
const sendRaw = (version: string): Partial<Freedoms> => ({
  send({ socket }, answer) {
    socket?.write(toHead(answer, version))
    socket?.end(answer.body)
  },
})

const sendInBytes: Freedoms['send'] = async (response, { status, headers, body }) => {
  response.writeHead(status, headers)
  for (const byte of body) {
    response.write(Buffer.of(byte))
    if (byte === 0x2c) await setImmediate()
  }
  response.end()
}

/** "a read-only HTTP/JSON interface": everything that HTTP allows. */
const CONNECTIONS: readonly Case[] = [
  ['chunks of one byte', { send: sendInBytes }],
  ['HTTP/1.0', sendRaw('1.0')],
  ['no length, connection closed', sendRaw('1.1')],
  ['a closed connection after each response', withHeaders({ connection: 'close' })],
  [
    'early hints',
    {
      send(response, answer) {
        response.writeEarlyHints({ link: '</style.css>; rel=preload' })
        response.writeProcessing()
        return PLAIN.send(response, answer)
      },
    },
  ],
  [
    'trailers',
    {
      send(response, { status, headers, body }) {
        response.writeHead(status, { ...headers, trailer: 'x-sum' }).write(body)
        response.addTrailers({ 'x-sum': '1' })
        response.end()
      },
    },
  ],
  ['12 kB of headers', withHeaders({ 'x-trace': 'x'.repeat(12_000), 'set-cookie': 'session=1' })],
]

const toDate = (fromNowMs: number): string => new Date(Date.now() + fromNowMs).toUTCString()

/** Headers of a cache before the catalog. The catalog's time lies between `Date` and `Date` + `Age`. */
const withDate = (fromNowMs: number, age: string | null = null): Partial<Freedoms> => ({
  headers: () => ({ date: toDate(fromNowMs), age }),
})

const wrongClock = (difference: RegExp): Partial<Observation> => ({
  check: { wrong: [expect.stringMatching(difference)], calls: 'channels' },
})

const withoutDate: Freedoms['send'] = (response, answer) => {
  response.sendDate = false
  return PLAIN.send(response, answer)
}

/** Section 8: "responses can be cached for five minutes". */
const CACHES: readonly Case[] = [
  ['no date', { send: withoutDate }],
  ['a date in words', withHeaders({ date: 'today' })],
  ['a date 30 s ahead', withDate(30 * SECOND_MS)],
  ['a date and an age of 200 s', withDate(-200 * SECOND_MS, '200')],
  ['the ages of two caches', withDate(-200 * SECOND_MS, '200, 190')],
  ['the present date and an age of 200 s', withDate(0, '200')],
  ['a date of 100 s ago and an age of 200 s', withDate(-100 * SECOND_MS, '200')],
  ['a date of an hour ago and an age of 200 s', withDate(-HOUR_MS, '200'), wrongClock(/3,[34]\d\d s behind/)],
  [
    'a date ten minutes ahead and an age of 200 s',
    withDate(600 * SECOND_MS, '200'),
    wrongClock(/[56]\d\d s ahead/),
  ],
  ['a date a day ahead', withDate(DAY_MS), wrongClock(/86,[34]\d\d s ahead/)],
  ['a date of 200 s ago without an age', withDate(-200 * SECOND_MS), wrongClock(/ s behind .*sends no Age/)],
  ['an age in words', withDate(0, 'old')],
  ['a negative age', withDate(0, '-5')],
  ['no caching', withHeaders({ 'cache-control': 'no-store', pragma: 'no-cache', expires: '0' })],
  ['validators', withHeaders({ etag: 'W/"1"', vary: '*', 'cache-control': 'public, s-maxage=300' })],
  [
    'limits in headers, all used up',
    withHeaders({
      'x-ratelimit-remaining': '0',
      ratelimit: 'limit=9, remaining=0, reset=5',
      'retry-after': '60',
    }),
  ],
]

/** Section 1: "Base address: `{base_url}`"; section 4: "All paths are relative to `{base_url}`". */
const ADDRESSES: readonly Case[] = [
  ['path', { basePath: '/partners/catalog' }],
  ['path with a slash at the end', { basePath: '/partners/catalog' }, {}, { suffix: '/' }],
  ['slash at the end', {}, {}, { suffix: '/' }],
  ['path with an encoded letter', { basePath: '/k%C3%A4se' }],
]

describe.each<[string, readonly Case[]]>([
  ['connection', CONNECTIONS],
  ['cache', CACHES],
  ['address', ADDRESSES],
])('%s of another catalog', (_section, cases) => {
  test.each(selectCases(cases).map((one) => [one[0], one] as const))(
    '%s - right for readers and operators, with the fewest calls',
    async (_name, [, freedoms, expected, setup]) => {
      expect(await observe(freedoms, setup)).toEqual({ ...GOOD, ...expected })
    },
  )
})
