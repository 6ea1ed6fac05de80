import type { Request, Response } from 'express'
import { isNoneMatch } from './etag.ts'

/** What `Vitrine-State` says of an answer. */
export type WidgetState = 'shown' | 'hidden' | 'unavailable' | 'invalid'

/** Headers by name; `undefined` leaves one out. */
export type Headers = Readonly<Record<string, string | undefined>>

/** A whole answer; `etag` is `null` where there is nothing to revalidate. */
export type Answer = Readonly<{
  status: number
  headers: Headers
  etag: string | null
  /** Called only when the body is sent: a 304 renders nothing. */
  getBody(): Buffer
}>

/**
 * Sends an answer in one write with its exact length, without the help of Express: no `Vary`, no encoding, no
 * redirect, no reading of the visitor's headers but `If-None-Match`.
 */
export function sendAnswer(request: Request, response: Response, answer: Answer): void {
  const headers = listHeaders({ ...answer.headers, ETag: answer.etag ?? undefined })
  if (answer.etag !== null && isNoneMatch(request.get('if-none-match'), answer.etag)) {
    response.writeHead(304, headers.filter(([name]) => name !== 'Content-Type').flat()).end()
    return
  }
  const body = answer.getBody()
  response.writeHead(answer.status, [...headers, ['Content-Length', String(body.length)]].flat())
  response.end(request.method === 'HEAD' ? undefined : body)
}

function listHeaders(headers: Headers): string[][] {
  return Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
}
