import { expect, test } from 'vitest'
import { CatalogStatusError, ConfigError, StoreError, VitrineError } from '../../src/errors.ts'
import { deserializeError, serializeError } from '../../src/lib/thread.ts'

const pass = (error: unknown): Error => deserializeError(structuredClone(serializeError(error)))

test.each([
  new StoreError('no disk', { remedy: 'Mount it.', isUnreachable: true }),
  new CatalogStatusError('status 500', 500),
  new ConfigError(['VITRINE_PORT: expected a number']),
])('$name passed to another thread - is equal, and of its class', (error) => {
  const passed = pass(error)
  expect(passed).toBeInstanceOf(error.constructor)
  expect(passed).toEqual(error)
  expect((passed as VitrineError).describeWithRemedy()).toBe(error.describeWithRemedy())
})

test.each([
  ['another error', Object.assign(new TypeError('damage'), { code: 'ERR_X', secret: 's' })],
  ['no error', 'damage'],
])('%s passed to another thread - keeps only its message', (_name, thrown) => {
  const passed = pass(thrown)
  expect(passed).not.toBeInstanceOf(VitrineError)
  expect([passed.message, Object.keys(passed)]).toEqual(['damage', []])
})
