import { describe, expect, test } from 'vitest'
import { createSingleFlight } from '../../src/lib/concurrency.ts'

describe('single flight', () => {
  test('concurrent calls with one key - one call, one result', async () => {
    const singleFlight = createSingleFlight<object>()
    let calls = 0
    const start = (): Promise<object> => Promise.resolve({ call: (calls += 1) })
    const results = await Promise.all(Array.from({ length: 200 }, () => singleFlight.run('a', start)))
    expect(calls).toBe(1)
    expect(new Set(results).size).toBe(1)
  })

  test('different keys - separate calls', async () => {
    const singleFlight = createSingleFlight<string>()
    const call = (key: string): Promise<string> => singleFlight.run(key, () => Promise.resolve(key))
    expect(await Promise.all([call('a'), call('b'), call('a')])).toEqual(['a', 'b', 'a'])
  })

  test('finished call - the next one starts a new call', async () => {
    const singleFlight = createSingleFlight<number>()
    let calls = 0
    const call = (): Promise<number> => singleFlight.run('a', () => Promise.resolve((calls += 1)))
    expect([await call(), await call(), singleFlight.has('a')]).toEqual([1, 2, false])
  })

  test('failed call - rejects for all callers, and the next one starts a new call', async () => {
    const singleFlight = createSingleFlight<string>()
    const waiting = [
      singleFlight.run('a', () => Promise.reject(new Error('broken'))),
      singleFlight.run('a', () => Promise.resolve('never called')),
    ]
    expect(singleFlight.has('a')).toBe(true)
    for (const one of waiting) await expect(one).rejects.toThrow('broken')
    expect(singleFlight.has('a')).toBe(false)
    expect(await singleFlight.run('a', () => Promise.resolve('again'))).toBe('again')
  })
})
