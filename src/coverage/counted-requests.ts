import type { IncomingMessage } from 'node:http'
import { isbot } from 'isbot'
import { LRUCache } from 'lru-cache'

/** What readers request themselves. Publishers' servers and apps fetch the rest, and their agent says nothing about the reader. */
const READERS_SURFACES: ReadonlySet<string> = new Set(['embed', 'go'])

/** Longer texts are cut: no browser sends them. */
const MAX_AGENT_CHARACTERS = 512

/** Texts of agents whose verdict is cached. They are only in memory. */
const MAX_AGENTS = 1_000

const verdicts = new LRUCache<string, boolean>({ max: MAX_AGENTS })

/**
 * Whether a request comes from a reader: not from a bot or the studio, no prefetch, and no HEAD. `publicUrl`: without a trailing
 * slash.
 */
export function isCountedRequest(
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  surface: string,
  publicUrl: string,
): boolean {
  if (method !== 'GET' || isPrefetch(headers)) return false
  if (!READERS_SURFACES.has(surface)) return true
  return isReader(headers['user-agent']) && !isPreview(headers, publicUrl)
}

/** The studio's previews are frames of its page, at the public address or, for example through a tunnel, at another host. */
function isPreview({ host = '', referer = '' }: IncomingMessage['headers'], publicUrl: string): boolean {
  // Almost no page has it in its address.
  if (!referer.includes('/studio')) return false
  const page = removeScheme(referer).replace(/[?#].*$/s, '')
  const address = removeScheme(publicUrl)
  const path = address.replace(/^[^/]*/, '')
  return [`${address}/studio`, `${host}${path}/studio`].some(
    (studio) => page === studio || page.startsWith(`${studio}/`),
  )
}

/** A proxy may have added TLS, so the scheme of a request is unknown. */
function removeScheme(url: string): string {
  return url.replace(/^https?:\/\//i, '')
}

/** Headers that announce a prefetch: the standard one, and those of older browsers and of apps. */
const PURPOSE_HEADERS = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const

/** Whether a browser or app fetches a page in advance, which the reader may never open. */
export function isPrefetch(headers: IncomingMessage['headers']): boolean {
  return PURPOSE_HEADERS.some((name) => {
    const purpose = headers[name]
    return typeof purpose === 'string' && /\b(?:prefetch|prerender|preview)\b/i.test(purpose)
  })
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
