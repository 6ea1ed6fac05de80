import helmet from 'helmet'
import type { RequestHandler } from 'express'
import { parseUrl } from '../lib/urls.ts'

/** Who may frame an embed: what the operator allowed, this server, the channel's own site, and a local demonstration. */
export type FrameRules = Readonly<{
  ownOrigin: string
  channelUrl: string | null
  configuredAncestors: readonly string[]
  /** The embedded catalog on loopback: pages from disk and from localhost may frame, to try a snippet at once. */
  isLocalDemo: boolean
}>

/** Sources for `frame-ancestors`; a `*` stands alone with `file:`, which it does not cover. */
export function listFrameAncestors(rules: FrameRules): readonly string[] {
  const sources = ["'self'", rules.ownOrigin, ...rules.configuredAncestors]
  const channelOrigin = findOrigin(rules.channelUrl)
  if (channelOrigin !== undefined) sources.push(channelOrigin)
  if (rules.isLocalDemo) sources.push('http://localhost:*', 'http://127.0.0.1:*', 'file:')
  return [...new Set(sources)]
}

/** Where styles, scripts and pictures of our own pages come from: the public address may differ from the one asked. */
const listOwnSources = (ownOrigin: string): readonly string[] => ["'self'", ownOrigin]

/** The policy of an embed as a header's value: it may load this server's styles and script, and pictures. */
export function toEmbedPolicy(ownOrigin: string, frameAncestors: readonly string[]): string {
  const ownSources = listOwnSources(ownOrigin).join(' ')
  return [
    "default-src 'none'",
    `style-src ${ownSources}`,
    `script-src ${ownSources}`,
    `img-src ${ownSources} https:`,
    "base-uri 'none'",
    "form-action 'none'",
    // The frame's script writes no markup; should it ever, the browser refuses.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    `frame-ancestors ${frameAncestors.join(' ')}`,
  ].join('; ')
}

/** The policy of a fragment that is opened as a page: it may show itself, and nothing may run. */
export function toFragmentPolicy(ownOrigin: string): string {
  const ownSources = listOwnSources(ownOrigin).join(' ')
  return `default-src 'none'; style-src ${ownSources}; img-src ${ownSources} https:; frame-ancestors 'none'`
}

/** Headers of responses that other sites take in (fragments, assets, embeds): CORP must be cross-origin, framing is the CSP's. */
export const crossOriginHeaders: Readonly<Record<string, string>> = {
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-XSS-Protection': '0',
}

/** Create the handler that sets them, and `more`. */
export function createCrossOriginHeaders(
  extraHeaders: Readonly<Record<string, string>> = {},
): RequestHandler {
  return (_request, response, next) => {
    response.set({ ...crossOriginHeaders, ...extraHeaders })
    next()
  }
}

/** For this server's own pages (studio, demonstration shop, mistakes). */
export function createOwnPageHeaders(ownOrigin: string): RequestHandler {
  const ownSources = [...listOwnSources(ownOrigin)]
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'style-src': ownSources,
        'script-src': ownSources,
        'img-src': [...ownSources, 'https:'],
        'frame-src': ownSources,
        'connect-src': ownSources,
        'base-uri': ["'none'"],
        'form-action': ["'self'"],
        'require-trusted-types-for': ["'script'"],
        'trusted-types': ["'none'"],
        'frame-ancestors': ["'none'"],
      },
    },
    crossOriginOpenerPolicy: { policy: 'same-origin' },
    strictTransportSecurity: false,
    xFrameOptions: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
  })
}

/**
 * The origin of a channel's address. The address is the catalog's: a host with anything but letters, digits, dots,
 * hyphens and underscores (URL allows `;`, `,`, `*` and quotes in it) could add directives to the policy.
 */
function findOrigin(url: string | null): string | undefined {
  const origin = parseUrl(url ?? '')?.origin ?? ''
  return /^https?:\/\/(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/.test(origin) ? origin : undefined
}
