import type { Request } from 'express'
import { findQuery, parseQueryString } from '../widgets/query.ts'

/** Parts of a path, decoded by Express. */
type Parameters = Readonly<Record<string, string | readonly string[] | undefined>>

/** Return one named part of a path; the parts of a wildcard are joined again, and a missing one is empty. */
export function getParameter(parameters: Parameters, name: string): string {
  const value = parameters[name] ?? ''
  return typeof value === 'string' ? value : value.join('/')
}

/** Parse the query string as it was sent; Express does not read it. */
export function parseQuery(request: Pick<Request, 'originalUrl'>): URLSearchParams {
  return parseQueryString(findQuery(request.originalUrl))
}
