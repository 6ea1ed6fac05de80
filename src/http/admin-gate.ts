import { createHash, timingSafeEqual } from 'node:crypto'
import type { Request, RequestHandler, Response } from 'express'
import { MINUTE_MS, SECOND_MS } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Secret, Secrets } from '../config/secrets.ts'
import { UnknownAddressError } from '../errors.ts'
import { isPublicHost } from '../offers/links.ts'
import type { AdminLimiter } from './admin-limiter.ts'
import { findClientAddress, isAskedLocally, isLocalDemo } from './client-address.ts'

/** Told to those who ask through a proxy that no setting names; `vitrine check` looks for it. */
export const PROXY_NOT_TRUSTED =
  'X-Forwarded-For was ignored: VITRINE_TRUST_PROXY does not name the proxy that sent it. Everybody behind that proxy counts as one address.'

/**
 * Who may see `/studio` and `/metrics`: with an admin password whoever knows it; without one only a local demonstration
 * that is not reached through a proxy. To everybody else the address does not exist.
 */
export type AdminGate = Readonly<{
  /** Answers 401, 429 or 404 to everybody else. */
  protect: RequestHandler
  /** The same question without an answer of its own; a wrong password counts here too, none at all never does. */
  isAdmin(request: Request): Promise<boolean>
  /** Does the studio exist for this request? Passwords are not looked at. */
  hasStudio(request: Request): boolean
}>

/** What a gate is made of: part of the context. */
export type AdminGateDetails = Readonly<{
  config: Pick<Config, 'catalog' | 'host' | 'trustProxy'>
  secrets: Secrets
  adminLimiter: AdminLimiter
  logger: Readonly<{ warn(message: string): void }>
}>

/** Create the one gate of an app. */
export function createAdminGate(context: AdminGateDetails): AdminGate {
  const password = context.secrets.adminPassword
  const hasStudio = (request: Request): boolean => password !== null || isOpen(context, request)
  if (password === null) {
    return {
      protect: (request, _response, next) => next(hasStudio(request) ? undefined : createUnknown()),
      isAdmin: (request) => Promise.resolve(hasStudio(request)),
      hasStudio,
    }
  }
  const authenticate = createAuthenticator(context, password)
  return {
    async protect(request, response, next) {
      // The peer has reset the connection: there is nobody to answer.
      if (request.socket.remoteAddress === undefined) {
        response.destroy()
        return
      }
      const refusal = await authenticate(request)
      if (refusal === null) next()
      else refuse(context, { request, response }, refusal)
    },
    async isAdmin(request) {
      return request.get('authorization') ? (await authenticate(request)) === null : false
    },
    hasStudio,
  }
}

/** Is the studio's address worth printing? */
export function isStudioReachable(context: Pick<AdminGateDetails, 'config' | 'secrets'>): boolean {
  return context.secrets.adminPassword !== null || isLocalDemo(context.config)
}

function isOpen({ config }: AdminGateDetails, { headers }: Request): boolean {
  return isLocalDemo(config) && isAskedLocally(headers)
}

function createUnknown(): UnknownAddressError {
  return new UnknownAddressError('closed without an admin password')
}

/** Logs once when a proxy is not trusted. */
function createAuthenticator(
  context: AdminGateDetails,
  password: Secret,
): (request: Request) => Promise<AdminRefusal | null> {
  let isProxyLogged = false
  return (request) => {
    if (isProxyIgnored(context, request) && !isProxyLogged) {
      isProxyLogged = true
      context.logger.warn(PROXY_NOT_TRUSTED)
    }
    const { authorization } = request.headers
    const address = findClientAddress(request, context.config.trustProxy)
    return refuseUnlessAdmin({ limiter: context.adminLimiter, password }, { authorization, address })
  }
}

/** Did a proxy in this network say for whom it asks, without being trusted? A visitor from outside may send the header, too. */
function isProxyIgnored({ config }: AdminGateDetails, { headers, ips, socket }: Request): boolean {
  if (headers['x-forwarded-for'] === undefined || config.trustProxy === true) return false
  // Express lists the addresses that trusted proxies name.
  return ips.length === 0 && !isPublicHost(toHost(socket.remoteAddress ?? ''))
}

/** An address of a socket as `URL` writes it. */
function toHost(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, '')
  return plain.includes(':') ? `[${plain}]` : plain
}

/** 429 while the address is locked, else 401, which makes browsers ask for the password. */
function refuse(
  context: AdminGateDetails,
  { request, response }: Readonly<{ request: Request; response: Response }>,
  { status, headers, message }: AdminRefusal,
): void {
  const lines = isProxyIgnored(context, request) ? [message, PROXY_NOT_TRUSTED] : [message]
  response
    .status(status)
    .set({ 'Cache-Control': 'no-store', ...headers })
    .type('text')
    .send(`${lines.join('\n')}\n`)
}

/** What a request shows: its `Authorization` header, and its address as a key made by `toLimiterKey`. */
export type AdminRequest = Readonly<{ authorization: string | undefined; address: string }>

/** How a request that may not pass is refused. */
export type AdminRefusal = Readonly<{ status: 401 | 429; headers: Record<string, string>; message: string }>

const NO_PASSWORD: AdminRefusal = {
  status: 401,
  headers: { 'WWW-Authenticate': 'Basic realm="Vitrine", charset="UTF-8"' },
  message: 'The user is admin, the password that of VITRINE_ADMIN_PASSWORD.',
}

/**
 * Compare the admin password and ask the limiter. A request without a password is a browser's first one, or a probe: it
 * guesses nothing and never counts.
 * @returns `null` when the request may pass
 */
export async function refuseUnlessAdmin(
  { limiter, password }: Readonly<{ limiter: AdminLimiter; password: Secret }>,
  { authorization = '', address }: AdminRequest,
): Promise<AdminRefusal | null> {
  const isRight = isAdminPassword(authorization, password)
  const lockedMs = await limiter.admit({ address, isWrong: authorization !== '' && !isRight })
  if (lockedMs > 0) return toLocked(lockedMs)
  return isRight ? null : NO_PASSWORD
}

function toLocked(lockedMs: number): AdminRefusal {
  return {
    status: 429,
    headers: { 'Retry-After': String(Math.ceil(lockedMs / SECOND_MS)) },
    message: `Too many wrong admin passwords came from this address. It is locked for ${Math.ceil(lockedMs / MINUTE_MS)} more minutes, for the right password too.`,
  }
}

/** Hashes are compared: the time taken tells neither length nor beginning. */
function isAdminPassword(authorization: string, password: Secret): boolean {
  const [scheme = '', encoded = ''] = authorization.split(' ')
  const given = scheme.toLowerCase() === 'basic' ? Buffer.from(encoded, 'base64').toString('utf8') : ''
  return timingSafeEqual(digest(given), digest(`admin:${password.reveal()}`))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
