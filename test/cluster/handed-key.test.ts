import { describe, expect, test } from 'vitest'
import { createHandedKey } from '../../src/cluster/handed-key.ts'

describe('key of a worker', () => {
  test('handed on - is the key from then on', () => {
    const key = createHandedKey('first-key', () => Promise.resolve(undefined))
    key.take('second-key')
    expect(key.current().reveal()).toBe('second-key')
  })

  test.each([
    ['another one', 'second-key', [true, 'second-key']],
    ['the same', 'first-key', [false, 'first-key']],
    ['no answer', undefined, [false, 'first-key']],
  ])('read again by the primary: %s', async (_what, answer, expected) => {
    const key = createHandedKey('first-key', () => Promise.resolve(answer))
    expect([await key.refresh(), key.current().reveal()]).toEqual(expected)
  })

  test('another one was handed on while the primary was asked - it is new', async () => {
    const key = createHandedKey('first-key', () => {
      key.take('second-key')
      return Promise.resolve('second-key')
    })
    expect(await key.refresh()).toBe(true)
  })
})
