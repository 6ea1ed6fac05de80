/** Create a promise that a test settles. */
export function defer<T>(): { promise: Promise<T>; resolve(value: T): void; reject(error: Error): void } {
  const settle: { resolve?: (value: T) => void; reject?: (error: Error) => void } = {}
  const promise = new Promise<T>((resolve, reject) => Object.assign(settle, { resolve, reject }))
  return {
    promise,
    resolve: (value) => settle.resolve?.(value),
    reject: (error) => settle.reject?.(error),
  }
}
