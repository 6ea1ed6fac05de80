import { get } from 'node:http'
import { SECOND_MS } from '../../clock.ts'
import { UsageError } from '../../errors.ts'
import { PROXY_NOT_TRUSTED } from '../../http/admin-gate.ts'
import { SERVER_NAME, listenHttp } from '../../http/server.ts'
import type { CommandContext } from '../command.ts'
import { toLocalUrl } from '../open-catalog.ts'
import type { Report } from './findings.ts'

/** A server on this machine answers within this, or is not counted as one of ours; one at its public address takes longer. */
const LOCAL_WITHIN_MS: number = SECOND_MS
const PUBLIC_WITHIN_MS: number = 2 * SECOND_MS

/** Logged at the start and told by `check`. */
export const TRUST_ALL_WARNING =
  'VITRINE_TRUST_PROXY=true believes any address that a visitor puts into X-Forwarded-For. The limit of wrong admin passwords therefore counts the address of the connection, which is the same for everybody behind a proxy. Set the number of proxies or their addresses instead.'

const PROXY_REMEDY =
  'Set VITRINE_TRUST_PROXY to the number of proxies in front of the server, or to their addresses, and restart it.'

/** Tell whether `serve` could listen on its address, or runs there already. */
export async function checkListener({ config, clock }: CommandContext, report: Report): Promise<void> {
  const { host, port } = config
  const address = `${host}:${port}`
  if (port !== 0 && (await isVitrineAt(toLocalUrl(host, port))))
    return report.good('listener', `Vitrine is running on ${address}`)
  try {
    await (await listenHttp(host, port, clock)).stop()
    report.good('listener', `would listen on ${port === 0 ? `a free port of ${host}` : address}`)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    report.bad(
      'listener',
      `${error.message} (${error.code})`,
      'Set VITRINE_HOST and VITRINE_PORT to a free address of this machine, or stop the other program.',
    )
  }
}

function isVitrineAt(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(LOCAL_WITHIN_MS)
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
export async function checkProxy({ config, secrets }: CommandContext, report: Report): Promise<void> {
  if (config.trustProxy === true) return report.good('proxy', TRUST_ALL_WARNING, PROXY_REMEDY)
  // Addresses of visitors matter to the limit of wrong passwords alone.
  if (secrets.adminPassword === null || config.publicUrl === null) return
  const refusal = await readRefusal(`${config.publicUrl}/metrics`)
  if (refusal.includes(PROXY_NOT_TRUSTED)) report.good('proxy', PROXY_NOT_TRUSTED, PROXY_REMEDY)
}

/** Empty where nothing answers: the server need not run while it is checked. */
async function readRefusal(url: string): Promise<string> {
  try {
    const signal = AbortSignal.timeout(PUBLIC_WITHIN_MS)
    // oxlint-disable-next-line no-restricted-globals -- it asks the running server, not the catalog
    const response = await fetch(url, { redirect: 'error', signal })
    return response.status === 401 || response.status === 429 ? (await response.text()).slice(0, 1_000) : ''
  } catch {
    return ''
  }
}
