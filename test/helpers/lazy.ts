/** Return a function that creates a value at its first call and shares it with later calls. */
export function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let promise: Promise<T> | undefined
  return () => (promise ??= make())
}

/** Run all parts in parallel at the first call. Each call waits for the named part and throws its error. */
export function createConcurrentParts(
  parts: Readonly<Record<string, () => Promise<void>>>,
): (name: string) => Promise<void> {
  const names = Object.keys(parts)
  const all = lazy(() => Promise.allSettled(Object.values(parts).map((part) => part())))
  return async (name) => {
    const outcome = (await all())[names.indexOf(name)]
    if (outcome?.status !== 'fulfilled') throw outcome?.reason ?? new Error(`unknown part: ${name}`)
  }
}
