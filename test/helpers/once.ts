/** Something that many tests look at, and that happens when the first of them does. */
export function once<T>(part: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= part())
}

/** Parts that are made at the same time, when the first is asked for; each tells whoever asks for it how it ended. */
export function tryAtOnce(
  parts: Readonly<Record<string, () => Promise<void>>>,
): (name: string) => Promise<void> {
  const names = Object.keys(parts)
  const all = once(() => Promise.allSettled(Object.values(parts).map((part) => part())))
  return async (name) => {
    const end = (await all())[names.indexOf(name)]
    if (end?.status !== 'fulfilled') throw end?.reason ?? new Error(`there is no part ${name}`)
  }
}
