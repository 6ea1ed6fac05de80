import { SECOND_MS } from '../clock.ts'
import { PROXY_NOT_TRUSTED } from '../http/admin-gate.ts'
import type { CommandContext } from './command.ts'
import { type Finding, good } from './findings.ts'

/** Logged at the start and told by `check`. */
export const TRUST_ALL_WARNING =
  'VITRINE_TRUST_PROXY=true believes any address that a visitor puts into X-Forwarded-For. The limit of wrong admin passwords therefore counts the address of the connection, which is the same for everybody behind a proxy. Set the number of proxies or their addresses instead.'

const CURE =
  'Set VITRINE_TRUST_PROXY to the number of proxies in front of the server, or to their addresses, and restart it.'

/** How long the running server may take to answer at its public address. */
const ANSWER_WITHIN_MS: number = 2 * SECOND_MS

/**
 * Warn about proxies that the server believes blindly, or does not know. For the second, ask the running server at its
 * public address, as visitors do, for `/metrics` without a password: the refusal says when a header was ignored.
 */
export async function checkProxy({ config, secrets }: CommandContext): Promise<readonly Finding[]> {
  if (config.trustProxy === true) return [warn(TRUST_ALL_WARNING)]
  // Addresses of visitors matter to the limit of wrong passwords alone.
  if (secrets.adminPassword === null || config.publicUrl === null) return []
  const text = await readRefusal(`${config.publicUrl}/metrics`)
  return text.includes(PROXY_NOT_TRUSTED) ? [warn(PROXY_NOT_TRUSTED)] : []
}

/** Nothing fails by a warning. */
function warn(found: string): Finding {
  return good('proxy', found, CURE)
}

/** Empty where nothing answers: the server need not run while it is checked. */
async function readRefusal(url: string): Promise<string> {
  try {
    // oxlint-disable-next-line no-restricted-globals -- it asks the running server, not the catalog
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(ANSWER_WITHIN_MS) })
    return response.status === 401 || response.status === 429 ? (await response.text()).slice(0, 1_000) : ''
  } catch {
    return ''
  }
}
