/** Create a group in which concurrent calls with the same key share one result. */
export function createSingleFlight<T>() {
  const calls = new Map<string, Promise<T>>()
  return {
    /** Return the pending call for `key`, or start one. All callers share its deadline. */
    run(key: string, start: () => Promise<T>): Promise<T> {
      const current = calls.get(key)
      if (current !== undefined) return current
      const call = start().finally(() => calls.delete(key))
      calls.set(key, call)
      return call
    },
    has: (key: string): boolean => calls.has(key),
  }
}
