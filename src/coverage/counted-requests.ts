import type { IncomingMessage } from 'node:http'
import { isbot } from 'isbot'
import { LRUCache } from 'lru-cache'

/** Whose requests are counted: publishers' servers fetch fragments, and their agent says nothing about the reader. */
export type CountedSurface = 'fragment' | 'embed' | 'go'

/** Longer texts are cut: no browser sends them. */
const MAX_AGENT_CHARACTERS = 512

/** Texts of agents whose verdict is cached. They are only in memory. */
const MAX_AGENTS = 1_000

const verdicts = new LRUCache<string, boolean>({ max: MAX_AGENTS })

/** Whether a request comes from a reader: not from a bot or the studio, no prefetch, and no HEAD. */
export function isCountedRequest(
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  surface: CountedSurface,
): boolean {
  if (method !== 'GET' || isPrefetch(headers)) return false
  return surface === 'fragment' || (isReader(headers['user-agent']) && !isPreview(headers))
}

/** The studio's previews are frames of the same host, and its pages send their address to that host only. */
function isPreview({ host, referer }: IncomingMessage['headers']): boolean {
  if (host === undefined || referer === undefined) return false
  const [, refererHost, path = ''] = /^https?:\/\/([^/?#]+)([^?#]*)/i.exec(referer) ?? []
  return refererHost === host && /\/studio(?:\/|$)/.test(path)
}

/** Browsers also prefetch pages that the reader never opens. `purpose` is the name in older ones. */
function isPrefetch(headers: IncomingMessage['headers']): boolean {
  const purpose = headers['sec-purpose'] ?? headers['purpose']
  return typeof purpose === 'string' && /\bprefetch\b/i.test(purpose)
}

/** A request without an agent comes from a program. */
function isReader(agent = ''): boolean {
  const text = agent.slice(0, MAX_AGENT_CHARACTERS)
  const known = verdicts.get(text)
  if (known !== undefined) return known
  const verdict = text !== '' && !isbot(text)
  verdicts.set(text, verdict)
  return verdict
}
