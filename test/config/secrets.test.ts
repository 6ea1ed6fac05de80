import { format, inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { Secret } from '../../src/config/secrets.ts'
import { createLogger } from '../../src/logger.ts'

const VALUE = 'hunter2-0123456789'

/** Every way in which Node, pino and people turn a value into text. */
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

  it('reveal - the only door', () => {
    expect(new Secret(VALUE).reveal()).toBe(VALUE)
  })
})
