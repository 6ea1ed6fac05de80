import { describe, expect, test } from 'vitest'
import type { Secrets } from '../../src/config/secrets.ts'
import { Secret } from '../../src/config/secrets.ts'
import { StoreError } from '../../src/errors.ts'
import type { LogLevel } from '../../src/config/settings.ts'
import { type Logger, createLogger, toTextLine } from '../../src/observability/logger.ts'
import { NO_PROXIES } from '../helpers/proxies.ts'

const KEY = 'vk_0123456789-of-the-test'
const PASSWORD = 'password-of-the-test'
const LOG_LEVELS: readonly LogLevel[] = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']
const LOUD_LEVELS = LOG_LEVELS.filter((level) => level !== 'silent')

/** Create a logger and the lines that it writes. */
function listen(level: LogLevel): Readonly<{ logger: Logger; lines: string[] }> {
  const lines: string[] = []
  return { logger: createLogger({ level, stream: { write: (line) => void lines.push(line) } }), lines }
}

const parseLine = (line: string | undefined): Record<string, unknown> =>
  JSON.parse(line ?? '') as Record<string, unknown>

describe('logger on a terminal', () => {
  test('event - one line of text with time, level, message and fields', () => {
    const { logger, lines } = listen('info')
    logger.warn(
      {
        feed: 'kopje',
        reason: 'status 404',
        count: 2,
        at: { a: 'x\ny', b: { c: [1] } },
        none: null,
        list: [],
      },
      'feed run failed',
    )
    expect(toTextLine(lines[0] ?? '')).toMatch(
      /^\d\d:\d\d:\d\d warn {2}feed run failed {2}feed=kopje {2}reason="status 404" {2}count=2 {2}at\.a="x\\ny" {2}at\.b\.c=\[1\]\n$/,
    )
  })
})

test('line that is no JSON, such as one with a redacted number - stays as it is', () => {
  expect(toTextLine('{"offers":[redacted]}\n')).toBe('{"offers":[redacted]}\n')
})

test('control characters in a field - are escaped on a terminal', () => {
  expect(toTextLine('{"level":30,"time":"2026-11-01T00:00:00.000Z","msg":"m","a":"\\u001b[31m"}')).toContain(
    'a="\\u001b[31m"',
  )
})

describe('logger, line format', () => {
  test('event - one line of JSON with level, time and message, without host data', () => {
    const { logger, lines } = listen('info')
    logger.warn({ channel: 'a', text: 'two\nlines' }, 'walk failed')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/^[^\n]+\n$/)
    expect(parseLine(lines[0])).toEqual({
      level: 40,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      channel: 'a',
      text: 'two\nlines',
      msg: 'walk failed',
    })
  })

  test('error - is logged with code, name and message', () => {
    const { logger, lines } = listen('error')
    logger.error(new StoreError('cannot be read'), 'stored copy failed')
    expect(parseLine(lines[0])).toMatchObject({
      level: 50,
      err: { code: 'VITRINE_STORE_FAILED', name: 'StoreError', message: 'cannot be read' },
      msg: 'stored copy failed',
    })
  })
})

describe('logger, levels', () => {
  test.each(LOG_LEVELS.map((level, index) => [level, index] as const))(
    '%s - writes events of this level and above, no others',
    (level, count) => {
      const { logger, lines } = listen(level)
      for (const event of LOUD_LEVELS) logger[event](event)
      expect(lines.map((line) => parseLine(line)['msg'])).toEqual(LOUD_LEVELS.slice(0, count))
    },
  )
})

describe('logger, secrets', () => {
  const secrets: Secrets = {
    catalogKey: new Secret(KEY),
    catalogKeyFile: '/run/secrets/key',
    adminPassword: new Secret(PASSWORD),
    feedSecrets: new Map(),
    webhook: null,
    proxies: NO_PROXIES,
  }

  test('secrets logged by mistake - are [redacted], other values stay', () => {
    const { logger, lines } = listen('info')
    logger.info({ secrets, list: [secrets.catalogKey] }, 'started')
    expect(parseLine(lines[0])).toMatchObject({
      secrets: { catalogKey: '[redacted]', catalogKeyFile: '/run/secrets/key', adminPassword: '[redacted]' },
      list: ['[redacted]'],
    })
  })

  test('key in the message, a child field or an error - is in no line', () => {
    const { logger, lines } = listen('trace')
    logger.child({ key: secrets.catalogKey }).info('with a child')
    logger.info('the key is %s', secrets.catalogKey)
    logger.info(`the key is ${String(secrets.catalogKey)}`)
    logger.error(Object.assign(new StoreError('broken'), { key: secrets.catalogKey }))
    expect(lines).toHaveLength(4)
    expect(parseLine(lines[0])['key']).toBe('[redacted]')
    expect(parseLine(lines[2])['msg']).toBe('the key is [redacted]')
    expect(parseLine(lines[3])).toMatchObject({ err: { message: 'broken', key: '[redacted]' } })
    expect(lines.join('')).not.toContain(KEY)
  })
})

describe('logger, secrets that were revealed by mistake', () => {
  const plain = new Secret('revealed-key-of-the-test').reveal()
  const odd = new Secret('revealed "key"\\of\nthe-test').reveal()

  test.each([
    ['message', (logger: Logger, value: string) => logger.info(`the key is ${value}`)],
    ['parameter of the message', (logger: Logger, value: string) => logger.info('the key is %s', value)],
    ['field', (logger: Logger, value: string) => logger.info({ key: value }, 'x')],
    ['deep field', (logger: Logger, value: string) => logger.warn({ a: [{ b: { c: `<${value}>` } }] }, 'x')],
    ['name of a field', (logger: Logger, value: string) => logger.info({ [value]: 1 }, 'x')],
    ['child', (logger: Logger, value: string) => logger.child({ key: value }).info('x')],
    ['error', (logger: Logger, value: string) => logger.error(new StoreError(`broken by ${value}`))],
    [
      'cause of an error',
      (logger: Logger, value: string) =>
        logger.error({ err: new StoreError('x', { cause: new Error(`Bearer ${value}`) }) }, 'failed'),
    ],
  ] as const)('in a %s - [redacted], and the line is still JSON', (_where, log) => {
    for (const value of [plain, odd]) {
      const { logger, lines } = listen('trace')
      log(logger, value)
      expect(lines).toHaveLength(1)
      expect(lines[0]).toContain('[redacted]')
      expect(lines[0]).not.toContain('revealed')
      expect(parseLine(lines[0])).toHaveProperty('level')
    }
  })
})
