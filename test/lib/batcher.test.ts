import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createBatcher } from '../../src/lib/concurrency.ts'
import { defer } from '../helpers/defer.ts'

/** A batcher of words that records its batches and doubles each word. */
function createWordBatcher() {
  const batches: (readonly string[])[] = []
  const add = createBatcher(async (words: readonly string[]) => {
    batches.push(words)
    if (words.includes('bad')) throw new Error('a bad word')
    return words.map((word) => word + word)
  })
  return { batches, add }
}

test('single item - is processed at once', async () => {
  const { batches, add } = createWordBatcher()
  expect([await add('a'), await add('b')]).toEqual(['aa', 'bb'])
  expect(batches).toEqual([['a'], ['b']])
})

test('items of one turn of the event loop - form one batch', async () => {
  const { batches, add } = createWordBatcher()
  expect(await Promise.all(['a', 'b', 'c'].map((word) => add(word)))).toEqual(['aa', 'bb', 'cc'])
  expect(batches).toEqual([['a', 'b', 'c']])
})

test('items that arrive during a batch - form the next one', async () => {
  const batches: (readonly string[])[] = []
  const later: Promise<unknown>[] = []
  const add = createBatcher((words: readonly string[]) => {
    batches.push(words)
    if (words.includes('a')) later.push(...['b', 'c'].map((word) => add(word)))
    return Promise.resolve(words)
  })
  await add('a')
  await Promise.all(later)
  expect(batches).toEqual([['a'], ['b', 'c']])
})

test('batch that fails - rejects its items, and not later ones', async () => {
  const { add } = createWordBatcher()
  const failures = await Promise.allSettled(['a', 'bad', 'b'].map((word) => add(word)))
  expect(failures.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(await add('c')).toBe('cc')
})

test('pause after a batch - delays no result, and items that arrive during it form one batch', async () => {
  const batches: (readonly string[])[] = []
  const pause = defer<void>()
  const process = (words: readonly string[]): Promise<readonly string[]> => {
    batches.push(words)
    return Promise.resolve(words)
  }
  const add = createBatcher(process, () => pause.promise)
  expect(await add('a')).toBe('a')
  const later = [add('b')]
  await setImmediate()
  later.push(add('c'))
  expect(batches).toEqual([['a']])
  pause.resolve()
  await Promise.all(later)
  expect(batches).toEqual([['a'], ['b', 'c']])
})
