/** Something that many tests look at, and that happens when the first of them does. */
export function once<T>(part: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= part())
}
