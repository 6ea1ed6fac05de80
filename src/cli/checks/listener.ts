import { get } from 'node:http'
import { SECOND_MS } from '../../clock.ts'
import { UsageError } from '../../errors.ts'
import { PROXY_NOT_TRUSTED } from '../../http/admin-auth.ts'
import { SERVER_NAME, listenHttp } from '../../http/server.ts'
import type { CommandContext } from '../command.ts'
import { toLocalUrl } from '../open-catalog.ts'
import type { CheckReport } from './report.ts'

/** A server on this machine answers within this, or is not counted as one of ours; one at its public address takes longer. */
const LOCAL_TIMEOUT_MS: number = SECOND_MS
const PUBLIC_TIMEOUT_MS: number = 2 * SECOND_MS

/** Logged at the start and told by `check`. */
export const TRUST_ALL_WARNING =
  'VITRINE_TRUST_PROXY=true believes any address that a visitor puts into X-Forwarded-For. The limit of wrong admin passwords therefore counts the address of the connection, which is the same for everybody behind a proxy. Set the number of proxies or their addresses instead.'

const PROXY_REMEDY =
  'Set VITRINE_TRUST_PROXY to the number of proxies in front of the server, or to their addresses, and restart it.'

/** Tell whether `serve` could listen on its address, or runs there already. */
export async function checkListener({ config, clock }: CommandContext, report: CheckReport): Promise<void> {
  const { host, port } = config
  const address = `${host}:${port}`
  if (port !== 0 && (await isVitrineRunningAt(toLocalUrl(host, port))))
    return report.addOk('listener', `Vitrine is running on ${address}`)
  try {
    await (await listenHttp(host, port, clock)).stop()
    report.addOk('listener', `would listen on ${port === 0 ? `a free port of ${host}` : address}`)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    report.addProblem(
      'listener',
      `${error.message} (${error.code})`,
      'Set VITRINE_HOST and VITRINE_PORT to a free address of this machine, or stop the other program.',
    )
  }
}

function isVitrineRunningAt(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(LOCAL_TIMEOUT_MS)
    get(`${url}/healthz`, { signal, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200 && response.headers.server === SERVER_NAME)
    }).on('error', () => resolve(false))
  })
}

/**
 * Warn about proxies that the server believes blindly, or does not know; neither is a failure. For the second, ask the running
 * server at its public address, as visitors do, for `/metrics` without a password: the refusal says when a header was ignored.
 */
export async function checkProxy({ config, secrets }: CommandContext, report: CheckReport): Promise<void> {
  if (config.trustProxy === true) return report.addOk('proxy', TRUST_ALL_WARNING, PROXY_REMEDY)
  // Addresses of visitors matter to the limit of wrong passwords alone.
  if (secrets.adminPassword === null || config.publicUrl === null) return
  const refusal = await fetchRefusal(`${config.publicUrl}/metrics`)
  if (refusal.includes(PROXY_NOT_TRUSTED)) report.addOk('proxy', PROXY_NOT_TRUSTED, PROXY_REMEDY)
}

/** Empty where nothing answers: the server need not run while it is checked. */
async function fetchRefusal(url: string): Promise<string> {
  try {
    const signal = AbortSignal.timeout(PUBLIC_TIMEOUT_MS)
    // oxlint-disable-next-line no-restricted-globals -- it asks the running server, not the catalog
    const response = await fetch(url, { redirect: 'error', signal })
    return response.status === 401 || response.status === 429 ? (await response.text()).slice(0, 1_000) : ''
  } catch {
    return ''
  }
}
