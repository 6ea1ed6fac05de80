import helmet from 'helmet'
import type { RequestHandler } from 'express'
import type { PictureMode } from '../config/settings.ts'
import { parseUrl } from '../lib/urls.ts'

/** Origins that may frame an embed. */
export type FrameRules = Readonly<{
  ownOrigin: string
  channelUrl: string | null
  configuredAncestors: readonly string[]
  /** In a local demo, pages from disk and from localhost may frame embeds. */
  isLocalDemo: boolean
}>

/** Return sources for `frame-ancestors`. `*` does not cover `file:`. */
export function listFrameAncestors(rules: FrameRules): readonly string[] {
  const sources = ["'self'", rules.ownOrigin, ...rules.configuredAncestors]
  const channelOrigin = findOrigin(rules.channelUrl)
  if (channelOrigin !== undefined) sources.push(channelOrigin)
  if (rules.isLocalDemo) sources.push('http://localhost:*', 'http://127.0.0.1:*', 'file:')
  return [...new Set(sources)]
}

/** The public address may differ from the requested one, so both are allowed. */
const listOwnSources = (ownOrigin: string): readonly string[] => ["'self'", ownOrigin]

/** Where pages load from: their own server, and product pictures according to `VITRINE_PICTURES`. */
export type PageSources = Readonly<{ ownOrigin: string; pictures: PictureMode }>

function listPictureSources({ ownOrigin, pictures }: PageSources): readonly string[] {
  const ownSources = listOwnSources(ownOrigin)
  return pictures === 'proxy' ? ownSources : [...ownSources, 'https:']
}

/** Return the content security policy of an embed. */
export function toEmbedPolicy(sources: PageSources, frameAncestors: readonly string[]): string {
  const ownSources = listOwnSources(sources.ownOrigin).join(' ')
  return [
    "default-src 'none'",
    `style-src ${ownSources}`,
    `script-src ${ownSources}`,
    `img-src ${listPictureSources(sources).join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    // The frame's script creates no markup; this enforces it.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    `frame-ancestors ${frameAncestors.join(' ')}`,
  ].join('; ')
}

/**
 * Return the embedder policy (COEP) of an embed: pages that have one show only frames that have one. The hosts of shops do not
 * send what `require-corp` needs of pictures.
 */
export function toEmbedderPolicy({ pictures }: PageSources): string {
  return pictures === 'proxy' ? 'require-corp' : 'credentialless'
}

/** Return the content security policy of a fragment that is opened as a page. No script may run. */
export function toFragmentPolicy(sources: PageSources): string {
  const ownSources = listOwnSources(sources.ownOrigin).join(' ')
  const pictureSources = listPictureSources(sources).join(' ')
  return `default-src 'none'; style-src ${ownSources}; img-src ${pictureSources}; frame-ancestors 'none'`
}

/** Policy of responses that are no pages. */
const emptyPolicy = "default-src 'none'; frame-ancestors 'none'"

/**
 * Headers of responses that other sites load. The content security policy controls framing. In a frame, the referrer policy also
 * decides what a network learns of a click: decision 0042.
 */
export const crossOriginHeaders: Readonly<Record<string, string>> = {
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Referrer-Policy': 'strict-origin-when-cross-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-XSS-Protection': '0',
}

/** Headers of data that any site may read. */
export const dataHeaders: Readonly<Record<string, string>> = {
  ...crossOriginHeaders,
  'Access-Control-Allow-Origin': '*',
  'Content-Security-Policy': emptyPolicy,
  'X-Robots-Tag': 'noindex',
  Vary: 'Accept-Encoding',
}

export function createCrossOriginHeaders(
  extraHeaders: Readonly<Record<string, string>> = {},
): RequestHandler {
  return (_request, response, next) => {
    response.set({ ...crossOriginHeaders, ...extraHeaders })
    next()
  }
}

/** Create a handler for own pages: studio, demo shop, errors. `framedBy`: which pages may frame them. */
export function createOwnPageHeaders(
  sources: PageSources,
  framedBy: "'none'" | "'self'" = "'none'",
): RequestHandler {
  const ownSources = [...listOwnSources(sources.ownOrigin)]
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'style-src': ownSources,
        'script-src': ownSources,
        'img-src': [...listPictureSources(sources)],
        'frame-src': ownSources,
        'connect-src': ownSources,
        'base-uri': ["'none'"],
        'form-action': ["'self'"],
        'require-trusted-types-for': ["'script'"],
        'trusted-types': ["'none'"],
        'frame-ancestors': [framedBy],
      },
    },
    crossOriginOpenerPolicy: { policy: 'same-origin' },
    strictTransportSecurity: false,
    xFrameOptions: { action: framedBy === "'self'" ? 'sameorigin' : 'deny' },
    // The previews of the studio are not counted: they know it by this header.
    referrerPolicy: { policy: 'same-origin' },
  })
}

/** Return the origin of a channel address. `URL` allows `;`, `,` and quotes in hosts, which could add directives. */
function findOrigin(url: string | null): string | undefined {
  const origin = parseUrl(url ?? '')?.origin ?? ''
  return /^https?:\/\/(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/.test(origin) ? origin : undefined
}
