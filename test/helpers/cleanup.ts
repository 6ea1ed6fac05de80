import { AsyncLocalStorage } from 'node:async_hooks'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

type Cleanup = () => unknown

/** Adds a cleanup to the group whose `setUpOnce` is running. */
const activeGroup = new AsyncLocalStorage<(cleanup: Cleanup) => void>()

/** Run a cleanup after the current test, or after the group whose `setUpOnce` is running. */
export function addCleanup(cleanup: Cleanup): void {
  const add = activeGroup.getStore() ?? onTestFinished
  add(async () => void (await cleanup()))
}

/** Set up something once for a group of tests and clean it up after them. */
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
    if (errors.length > 0) throw new AggregateError(errors, 'some cleanups failed')
  })
  return () => {
    if (state.value === undefined) throw new Error('setUpOnce: the value is available only inside tests')
    return state.value
  }
}
