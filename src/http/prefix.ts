import type { RequestHandler } from 'express'

/** What stands behind a prefix: an address of this server, or nothing. */
const OWN_ADDRESS =
  /^(?:\/(?:fragments|embeds|assets|accents|go|demo|studio|oembed|metrics|embed\.js|favicon\.ico|healthz|readyz)(?=[/?]|$)|\/?(?:\?|$))/

/**
 * Takes the path of `VITRINE_PUBLIC_URL` off a request's address where the proxy in front has left it on. A proxy that
 * takes it off itself is served as well; a prefix that is named like an address of ours is taken off once at most.
 */
export function createPrefixStripper(publicUrl: string): RequestHandler {
  const strip = createStrip(publicUrl)
  return (request, _response, next) => {
    request.url = strip(request.url)
    next()
  }
}

/** The same for an address by itself; one that needs no change comes back as it is. */
export function createStrip(publicUrl: string): (address: string) => string {
  const prefix = new URL(publicUrl).pathname.replace(/\/$/, '')
  if (prefix === '') return (address) => address
  return (address) => {
    // A proxy may name the whole address (RFC 9112, section 3.2.2).
    const path = address.replace(/^https?:\/\/[^/?#]*/i, '')
    const rest = path.startsWith(prefix) ? path.slice(prefix.length) : undefined
    if (rest === undefined || !OWN_ADDRESS.test(rest)) return address
    return rest.startsWith('/') ? rest : `/${rest}`
  }
}
