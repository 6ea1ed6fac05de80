import { describe, expect, test } from 'vitest'
import type { Config } from '../../src/config/config.ts'
import { parseConfig } from '../../src/config/config.ts'
import { isLocalFramingAllowed, isLocalDemo, isLoopback } from '../../src/http/client-address.ts'

const embedded = (host: string): Config => parseConfig({ VITRINE_HOST: host }).config
const remote = parseConfig({
  VITRINE_CATALOG_URL: 'https://catalog.example',
  VITRINE_CATALOG_KEY: 'a-key-of-the-test',
}).config

describe('loopback', () => {
  test.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.255.0.9', '::1', '[::1]'])(
    '%s - is loopback',
    (host) => {
      expect(isLoopback(host)).toBe(true)
    },
  )

  test.each([
    '0.0.0.0',
    '::',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '128.0.0.1',
    '127.0.0',
    '',
  ])('"%s" - is not loopback', (host) => {
    expect(isLoopback(host)).toBe(false)
  })
})

describe('local demo', () => {
  test('embedded catalog on loopback - true; on all addresses or with a remote catalog - false', () => {
    expect([embedded('127.0.0.1'), embedded('0.0.0.0'), remote].map(isLocalDemo)).toEqual([
      true,
      false,
      false,
    ])
  })

  test.each([
    ['http://127.0.0.1:3000', true],
    ['http://[::1]:3000', true],
    ['http://localhost:3000/widgets', true],
    ['https://widgets.example', false],
  ])('public address %s - local pages may frame: %s', (publicUrl, expected) => {
    expect(isLocalFramingAllowed(embedded('127.0.0.1'), publicUrl)).toBe(expected)
    expect(isLocalFramingAllowed(embedded('0.0.0.0'), publicUrl)).toBe(false)
  })
})
