import { get } from 'node:http'
import { SECOND_MS } from '../../clock.ts'
import { ConfigError } from '../../errors.ts'
import { PROXY_NOT_TRUSTED } from '../../http/admin-auth.ts'
import { SERVER_NAME, listenHttp } from '../../http/server.ts'
import type { CommandContext } from '../command.ts'
import { toLocalUrl } from '../open-catalog.ts'
import type { CheckReport } from './report.ts'

/** How long this machine, and the public address, may take to respond; a later response is ignored. */
const LOCAL_TIMEOUT_MS: number = SECOND_MS
const PUBLIC_TIMEOUT_MS: number = 2 * SECOND_MS

export const TRUST_ALL_WARNING =
  'VITRINE_TRUST_PROXY=true accepts any address that a visitor puts into X-Forwarded-For. The limit on wrong admin passwords therefore uses the address of the connection, which is the same for all visitors behind a proxy. Set the number of proxies or their addresses instead.'

const PROXY_REMEDY =
  'Set VITRINE_TRUST_PROXY to the number of proxies in front of the server, or to their addresses, and restart it.'

export async function checkListener({ config, clock }: CommandContext, report: CheckReport): Promise<void> {
  const { host, port } = config
  const address = `${host}:${port}`
  if (port !== 0 && (await isVitrineRunningAt(toLocalUrl(host, port))))
    return report.addOk('listener', `Vitrine is running on ${address}`)
  try {
    await report.attempt('listener', async () => {
      await (await listenHttp(host, port, clock)).stop()
      report.addOk('listener', `can listen on ${port === 0 ? `a free port of ${host}` : address}`)
    })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    report.addProblem('listener', error.problems.join('; '), 'Correct this setting.')
  }
}

/** Whether a widget server responds at this address. */
export function isVitrineRunningAt(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(LOCAL_TIMEOUT_MS)
    get(`${url}/healthz`, { signal, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200 && response.headers.server === SERVER_NAME)
    }).on('error', () => resolve(false))
  })
}

/** Warn when the server trusts every proxy, or ignores the headers of one, which the 401 of its public `/metrics` reports. */
export async function checkProxy({ config, secrets }: CommandContext, report: CheckReport): Promise<void> {
  if (config.trustProxy === true) return report.addOk('proxy', TRUST_ALL_WARNING, PROXY_REMEDY)
  // Only the limit on wrong passwords uses the addresses of visitors.
  if (secrets.adminPassword === null || config.publicUrl === null) return
  const refusal = await fetchRefusal(`${config.publicUrl}/metrics`)
  if (refusal.includes(PROXY_NOT_TRUSTED)) report.addOk('proxy', PROXY_NOT_TRUSTED, PROXY_REMEDY)
}

/** Return the text of a 401 or 429, otherwise an empty text: the server need not run during a check. */
async function fetchRefusal(url: string): Promise<string> {
  try {
    const signal = AbortSignal.timeout(PUBLIC_TIMEOUT_MS)
    // oxlint-disable-next-line no-restricted-globals -- calls the running server, not the catalog
    const response = await fetch(url, { redirect: 'error', signal })
    return response.status === 401 || response.status === 429 ? (await response.text()).slice(0, 1_000) : ''
  } catch {
    return ''
  }
}
