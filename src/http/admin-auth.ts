import { hash, timingSafeEqual } from 'node:crypto'
import type { Request, RequestHandler } from 'express'
import { MINUTE_MS, SECOND_MS } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Secret, Secrets } from '../config/secrets.ts'
import { UnknownAddressError } from '../errors.ts'
import { isPublicHost } from '../lib/urls.ts'
import type { AdminLimiter } from './admin-limiter.ts'
import { findClientAddress, isLocalRequest, isLocalDemo } from './client-address.ts'
import { TEXT_TYPE, sendResponse } from './response.ts'

/** Appended to refusals of clients behind a proxy that is not trusted; `vitrine check` looks for it. */
export const PROXY_NOT_TRUSTED =
  'X-Forwarded-For was ignored: VITRINE_TRUST_PROXY does not name the proxy that sent it. All clients behind that proxy count as one address.'

/** Access to `/studio` and `/metrics`: with the admin password, or without one only locally in a local demo. Else 404. */
export type AdminAuth = Readonly<{
  /** Pass requests of the admin on. Others get 401 or 429, or 404 without an admin password. */
  requireAdmin: RequestHandler
  /** Pass requests on if the studio exists for them, with or without the password; else 404. */
  requireStudio: RequestHandler
  /** Return the local address of the studio if it needs no password for the request; else `null`. */
  findOpenStudioUrl(request: Request): string | null
  /** Whether the request has the admin password. A wrong one is counted, a missing one is not. */
  isAdmin(request: Request): Promise<boolean>
}>

type AdminAuthOptions = Readonly<{
  config: Pick<Config, 'catalog' | 'host' | 'trustProxy'>
  secrets: Secrets
  adminLimiter: AdminLimiter
  logger: Readonly<{ warn(message: string): void }>
}>

export function createAdminAuth({ config, secrets, adminLimiter, logger }: AdminAuthOptions): AdminAuth {
  const password = secrets.adminPassword
  if (password === null) {
    const isOpenToLocalRequest = ({ headers }: Request): boolean =>
      isLocalDemo(config) && isLocalRequest(headers)
    const requireStudio: RequestHandler = (request, _response, next) => {
      if (!isOpenToLocalRequest(request)) throw new UnknownAddressError('closed without an admin password')
      next()
    }
    return {
      requireAdmin: requireStudio,
      requireStudio,
      findOpenStudioUrl: (request) =>
        isOpenToLocalRequest(request) ? `http://${request.headers.host ?? ''}/studio` : null,
      isAdmin: (request) => Promise.resolve(isOpenToLocalRequest(request)),
    }
  }
  let isProxyLogged = false
  const findRefusal = async (request: Request): Promise<AdminRefusal | null> => {
    const isProxyUntrusted = hasUntrustedProxy(config, request)
    if (isProxyUntrusted && !isProxyLogged) {
      isProxyLogged = true
      logger.warn(PROXY_NOT_TRUSTED)
    }
    const { authorization } = request.headers
    const address = findClientAddress(request, config.trustProxy)
    const refusal = await findAdminRefusal({ limiter: adminLimiter, password }, { authorization, address })
    return refusal && isProxyUntrusted
      ? { ...refusal, message: `${refusal.message}\n${PROXY_NOT_TRUSTED}` }
      : refusal
  }
  return {
    async requireAdmin(request, response, next) {
      // The client has reset the connection.
      if (request.socket.remoteAddress === undefined) {
        response.destroy()
        return
      }
      const refusal = await findRefusal(request)
      if (refusal === null) return next()
      sendResponse(request, response, {
        status: refusal.status,
        headers: { 'Cache-Control': 'no-store', ...refusal.headers, 'Content-Type': TEXT_TYPE },
        body: `${refusal.message}\n`,
      })
    },
    requireStudio: (_request, _response, next) => next(),
    findOpenStudioUrl: () => null,
    isAdmin: async (request) =>
      Boolean(request.get('authorization')) && (await findRefusal(request)) === null,
  }
}

export function isStudioReachable({
  config,
  secrets,
}: Pick<AdminAuthOptions, 'config' | 'secrets'>): boolean {
  return secrets.adminPassword !== null || isLocalDemo(config)
}

/** Whether an untrusted proxy of this network sent `X-Forwarded-For`. Clients from outside can send the header, too. */
function hasUntrustedProxy(
  { trustProxy }: Pick<Config, 'trustProxy'>,
  { headers, ips, socket }: Request,
): boolean {
  if (headers['x-forwarded-for'] === undefined || trustProxy === true) return false
  // `ips` contains what trusted proxies reported.
  return ips.length === 0 && !isPublicHost(toHost(socket.remoteAddress ?? ''))
}

/** Return a socket address as `URL` writes it. */
function toHost(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, '')
  return plain.includes(':') ? `[${plain}]` : plain
}

/** 429 while the address is locked, else 401, after which browsers ask for the password. */
type AdminRefusal = Readonly<{ status: 401 | 429; headers: Record<string, string>; message: string }>

const UNAUTHORIZED: AdminRefusal = {
  status: 401,
  headers: { 'WWW-Authenticate': 'Basic realm="Vitrine", charset="UTF-8"' },
  message: 'Log in as "admin" with the password of VITRINE_ADMIN_PASSWORD.',
}

/** Check password and limiter; `null`: allowed. `address` is a key of `toLimiterKey`. A missing password is not counted. */
export async function findAdminRefusal(
  { limiter, password }: Readonly<{ limiter: AdminLimiter; password: Secret }>,
  { authorization = '', address }: Readonly<{ authorization: string | undefined; address: string }>,
): Promise<AdminRefusal | null> {
  const isPasswordCorrect = isAdminPassword(authorization, password)
  const lockedMs = await limiter.admit({
    address,
    hasWrongPassword: authorization !== '' && !isPasswordCorrect,
  })
  if (lockedMs === 0) return isPasswordCorrect ? null : UNAUTHORIZED
  return {
    status: 429,
    headers: { 'Retry-After': String(Math.ceil(lockedMs / SECOND_MS)) },
    message: `Too many wrong admin passwords from this address. It is locked for ${Math.ceil(lockedMs / MINUTE_MS)} more minutes, even with the correct password.`,
  }
}

/** Compare hashes, so that the duration reveals neither length nor prefix. */
function isAdminPassword(authorization: string, password: Secret): boolean {
  const [scheme = '', encoded = ''] = authorization.split(' ')
  const credentials = scheme.toLowerCase() === 'basic' ? Buffer.from(encoded, 'base64').toString('utf8') : ''
  return timingSafeEqual(
    hash('sha256', credentials, 'buffer'),
    hash('sha256', `admin:${password.reveal()}`, 'buffer'),
  )
}
