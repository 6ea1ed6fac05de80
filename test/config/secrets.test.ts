import { format, inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { Secret, redactSecrets } from '../../src/config/secrets.ts'
import { createLogger } from '../../src/observability/logger.ts'

const VALUE = 'hunter2-0123456789'

/** All ways to turn a value into text. */
const PRINTERS: readonly (readonly [string, (secret: Secret) => string])[] = [
  ['String', (secret) => String(secret)],
  ['template', (secret) => `${secret.toString()} ${[secret].join()}`],
  ['concatenation', (secret) => ['', secret].join('')],
  ['JSON', (secret) => JSON.stringify({ secret, list: [secret] })],
  ['inspect', (secret) => inspect({ secret }, { depth: null, showHidden: true, getters: true })],
  [
    'inspect without custom',
    (secret) => inspect(secret, { customInspect: false, showHidden: true, depth: null }),
  ],
  ['format', (secret) => format('%s %o %O %j %d', secret, secret, secret, secret, secret)],
  [
    'keys',
    (secret) =>
      JSON.stringify([
        Object.entries(secret),
        Reflect.ownKeys(secret),
        Object.getOwnPropertyDescriptors(secret),
      ]),
  ],
  ['clone', (secret) => inspect(structuredClone(secret))],
  ['error', (secret) => inspect(new Error('x', { cause: secret }), { depth: null })],
  [
    'pino',
    (secret) => {
      const lines: string[] = []
      const logger = createLogger({ level: 'trace', stream: { write: (line) => void lines.push(line) } })
      logger.info({ secret, deep: { secrets: [secret] } }, 'text %s %o', secret, secret)
      logger.error(Object.assign(new Error('x', { cause: secret }), { secret }))
      return lines.join('')
    },
  ],
]

describe('secret', () => {
  it.each(PRINTERS)('%s - does not print it', (_name, print) => {
    const printed = print(new Secret(VALUE))
    expect(printed).not.toContain('hunter2')
    expect(printed.length).toBeGreaterThan(0)
  })

  it.each([
    String,
    (secret: Secret): string => inspect(secret),
    (secret: Secret): string => JSON.parse(JSON.stringify(secret)) as string,
  ])('the usual ways - print [redacted]', (print) => {
    expect(print(new Secret(VALUE))).toBe('[redacted]')
  })

  it('reveal - returns the secret', () => {
    expect(new Secret(VALUE).reveal()).toBe(VALUE)
  })
})

describe('redactSecrets', () => {
  it.each([
    ['alone', 'hidden-alone-1', 'hidden-alone-1', '[redacted]'],
    [
      'in a sentence, twice',
      'hidden-twice-1',
      'a hidden-twice-1 b hidden-twice-1',
      'a [redacted] b [redacted]',
    ],
    [
      'in an address',
      'hidden-url-1',
      'https://x.example/?k=hidden-url-1&b',
      'https://x.example/?k=[redacted]&b',
    ],
    ['with pattern characters', 'h.dden*$&(1', 'the h.dden*$&(1 and $& stay', 'the [redacted] and $& stay'],
    ['of six characters', 'hide-6', '<hide-6>', '<[redacted]>'],
  ])('secret %s - is redacted', (...[, value, text, expected]) => {
    expect(new Secret(value).reveal()).toBe(value)
    expect(redactSecrets(text)).toBe(expected)
  })

  it.each(['"', '\\', '\n', '\t', '\u0001', '\u2028', 'é'])(
    'secret with %j - is redacted in JSON',
    (character) => {
      const secret = new Secret(`hidden${character}json-${character.codePointAt(0)}`)
      const text = JSON.stringify({ deep: [{ value: `<${secret.reveal()}>` }], [secret.reveal()]: 1 })
      const hidden = redactSecrets(text)
      expect(JSON.parse(hidden)).toEqual({ deep: [{ value: '<[redacted]>' }], '[redacted]': 1 })
      expect(redactSecrets(secret.reveal())).toBe('[redacted]')
    },
  )

  it.each(['', 'abc', 'info5'])('value %j, which is too short - is not redacted', (value) => {
    expect(new Secret(value).reveal()).toBe(value)
    expect(redactSecrets(`text with ${value}`)).toBe(`text with ${value}`)
  })

  it('secret that starts with another one - is redacted completely, in any order of creation', () => {
    for (const value of ['hidden-begin', 'hidden-begin-and-end', 'hidden-b'])
      expect(new Secret(value).reveal()).toBe(value)
    expect(redactSecrets('<hidden-begin-and-end> <hidden-begin> <hidden-b>')).toBe(
      '<[redacted]> <[redacted]> <[redacted]>',
    )
  })

  it('secret in JSON within JSON - is redacted', () => {
    const secret = new Secret('hidden "twice" in\\JSON')
    const text = JSON.stringify({ body: JSON.stringify({ key: secret.reveal() }) })
    expect(JSON.parse(redactSecrets(text))).toEqual({ body: '{"key":"[redacted]"}' })
  })

  it('secret of digits - is redacted, but not within longer numbers', () => {
    expect(new Secret('918273').reveal()).toBe('918273')
    const text = JSON.stringify({
      password: '918273',
      timeMs: 1_918_273_000,
      count: 77_918_273,
      msg: 'password 918273.',
    })
    expect(JSON.parse(redactSecrets(text))).toEqual({
      password: '[redacted]',
      timeMs: 1_918_273_000,
      count: 77_918_273,
      msg: 'password [redacted].',
    })
  })

  it('text without secrets - is unchanged', () => {
    expect(redactSecrets('{"level":30,"msg":"walked a channel"}')).toBe(
      '{"level":30,"msg":"walked a channel"}',
    )
  })
})
