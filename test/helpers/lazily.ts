/** Something that many tests look at, made when the first of them asks for it. */
export function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}

/** Try parts at the same time, when the first is asked for. Each call returns when the part of that name has ended, and throws what it threw. */
export function tryAtOnce(
  parts: Readonly<Record<string, () => Promise<void>>>,
): (name: string) => Promise<void> {
  const names = Object.keys(parts)
  const all = lazily(() => Promise.allSettled(Object.values(parts).map((part) => part())))
  return async (name) => {
    const end = (await all())[names.indexOf(name)]
    if (end?.status !== 'fulfilled') throw end?.reason ?? new Error(`there is no part ${name}`)
  }
}
