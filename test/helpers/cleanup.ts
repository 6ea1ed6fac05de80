import { AsyncLocalStorage } from 'node:async_hooks'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

type Cleanup = () => unknown

/** The `useOnce` that runs now: it ends what is started in it. */
const activeGroup = new AsyncLocalStorage<(cleanup: Cleanup) => void>()

/** Do this after the test that runs, or after the group whose `useOnce` runs. */
export function addCleanup(cleanup: Cleanup): void {
  const add = activeGroup.getStore() ?? onTestFinished
  add(async () => void (await cleanup()))
}

/** Start something before the tests of a group, once for all of them; what it starts ends after them. */
export function setUpOnce<T>(start: () => Promise<T>): () => T {
  const cleanups: Cleanup[] = []
  const state: { value?: T } = {}
  beforeAll(async () => {
    state.value = await activeGroup.run((cleanup) => void cleanups.push(cleanup), start)
  })
  afterAll(async () => {
    const errors: unknown[] = []
    for (const cleanup of cleanups.toReversed()) {
      try {
        await cleanup()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'not everything that was started has ended')
  })
  return () => {
    if (state.value === undefined) throw new Error('there is nothing before the tests')
    return state.value
  }
}
