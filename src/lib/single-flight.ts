/** Share one call among all who ask for the same key while it is under way. */
export function createSingleFlight<T>() {
  const calls = new Map<string, Promise<T>>()
  return {
    /** Return the call under way for `key`, or start one. A deadline belongs to the call, not to one of its callers. */
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
