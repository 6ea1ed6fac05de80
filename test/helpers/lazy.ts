/** Something that many tests look at, made when the first of them asks for it. */
export function lazy<T>(make: () => Promise<T>): () => Promise<T> {
  let promise: Promise<T> | undefined
  return () => (promise ??= make())
}

/** Try parts at the same time, when the first is asked for. Each call returns when the part of that name has ended, and throws what it threw. */
export function createConcurrentParts(
  parts: Readonly<Record<string, () => Promise<void>>>,
): (name: string) => Promise<void> {
  const names = Object.keys(parts)
  const all = lazy(() => Promise.allSettled(Object.values(parts).map((part) => part())))
  return async (name) => {
    const outcome = (await all())[names.indexOf(name)]
    if (outcome?.status !== 'fulfilled') throw outcome?.reason ?? new Error(`there is no part ${name}`)
  }
}
