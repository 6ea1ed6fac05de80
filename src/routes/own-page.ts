import type { Request, Response } from 'express'
import { chooseEncoding, encodeBody, pickBody } from '../http/encodings.ts'

/** Sends a page of this server itself: compressed, and kept by nobody. */
export async function sendPage(request: Request, response: Response, html: string): Promise<void> {
  const encoding = chooseEncoding(request.get('accept-encoding'))
  const body = pickBody(await encodeBody(html), encoding)
  if (encoding !== null) response.set('Content-Encoding', encoding)
  response.set({ 'Cache-Control': 'no-store', Vary: 'Accept-Encoding' }).type('html').send(body)
}
