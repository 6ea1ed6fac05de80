import { get } from 'node:http'
import { type Clock, SECOND_MS } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { UsageError } from '../errors.ts'
import { SERVER_NAME, listenHttp } from '../http/server.ts'
import { type Finding, bad, good } from './findings.ts'
import { toLocalUrl } from './catalog/place.ts'

/** A server on this machine answers within this, or is not counted as one of ours. */
const ANSWER_WITHIN_MS: number = SECOND_MS

/** Tell whether `serve` could listen on its address, or runs there already. */
export async function checkListener(
  { host, port }: Pick<Config, 'host' | 'port'>,
  clock: Clock,
): Promise<Finding> {
  const subject = 'listener'
  const address = `${host}:${port}`
  if (port !== 0 && (await isVitrineAt(toLocalUrl(host, port))))
    return good(subject, `Vitrine is running on ${address}`)
  try {
    await (await listenHttp(host, port, clock)).stop()
    return good(subject, `would listen on ${port === 0 ? `a free port of ${host}` : address}`)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return bad(
      subject,
      `${error.message} (${error.code})`,
      'Set VITRINE_HOST and VITRINE_PORT to a free address of this machine, or stop the other program.',
    )
  }
}

function isVitrineAt(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
    get(`${url}/healthz`, { signal, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200 && response.headers.server === SERVER_NAME)
    }).on('error', () => resolve(false))
  })
}
