import type { RecordedRequest } from './recorder.ts'

export const toRequests = (paths: readonly string[]): RecordedRequest[] => paths.map((path) => ({ path }))

/** A request for each path with each value of a header. */
export const withHeader = (
  paths: readonly string[],
  name: string,
  values: readonly string[],
): RecordedRequest[] => paths.flatMap((path) => values.map((value) => ({ path, headers: { [name]: value } })))

export const withMethods = (paths: readonly string[], methods: readonly string[]): RecordedRequest[] =>
  paths.flatMap((path) => methods.map((method) => ({ path, method })))

export const toBasic = (user: string, password: string): Record<string, string> => ({
  Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
})
