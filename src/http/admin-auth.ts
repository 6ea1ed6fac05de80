import { hash, timingSafeEqual } from 'node:crypto'
import type { Request, RequestHandler } from 'express'
import { MINUTE_MS, SECOND_MS } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Secret, Secrets } from '../config/secrets.ts'
import { UnknownAddressError } from '../errors.ts'
import { isPublicHost } from '../offers/links.ts'
import type { AdminLimiter } from './admin-limiter.ts'
import { findClientAddress, isLocalRequest, isLocalDemo } from './client-address.ts'

/** Told to those who ask through a proxy that no setting names; `vitrine check` looks for it. */
export const PROXY_NOT_TRUSTED =
  'X-Forwarded-For was ignored: VITRINE_TRUST_PROXY does not name the proxy that sent it. Everybody behind that proxy counts as one address.'

/**
 * Who may see `/studio` and `/metrics`: with an admin password everybody who knows it; without one only a local demonstration
 * that is not reached through a proxy. To everybody else the address does not exist.
 */
export type AdminAuth = Readonly<{
  /** Pass the admin on. Everybody else gets 401 or 429, or 404 without an admin password. */
  requireAdmin: RequestHandler
  /** Pass on every request for which the studio exists, whatever its password; 404 for others. */
  requireStudio: RequestHandler
  /** Is it the admin who asks? A wrong password counts here, too; none at all never does. */
  isAdmin(request: Request): Promise<boolean>
}>

/** The part of the context that a gate is made of. */
type AdminAuthDetails = Readonly<{
  config: Pick<Config, 'catalog' | 'host' | 'trustProxy'>
  secrets: Secrets
  adminLimiter: AdminLimiter
  logger: Readonly<{ warn(message: string): void }>
}>

/** Create the one gate of an app. */
export function createAdminAuth({ config, secrets, adminLimiter, logger }: AdminAuthDetails): AdminAuth {
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
      // The peer has reset the connection: there is nobody to answer.
      if (request.socket.remoteAddress === undefined) {
        response.destroy()
        return
      }
      const refusal = await findRefusal(request)
      if (refusal === null) return next()
      response.status(refusal.status).set({ 'Cache-Control': 'no-store', ...refusal.headers })
      response.type('text').send(`${refusal.message}\n`)
    },
    requireStudio: (_request, _response, next) => next(),
    isAdmin: async (request) =>
      Boolean(request.get('authorization')) && (await findRefusal(request)) === null,
  }
}

/** Is the studio's address worth printing? */
export function isStudioReachable({
  config,
  secrets,
}: Pick<AdminAuthDetails, 'config' | 'secrets'>): boolean {
  return secrets.adminPassword !== null || isLocalDemo(config)
}

/** Did a proxy in this network say for whom it asks, without being trusted? A visitor from outside may send the header, too. */
function hasUntrustedProxy(
  { trustProxy }: Pick<Config, 'trustProxy'>,
  { headers, ips, socket }: Request,
): boolean {
  if (headers['x-forwarded-for'] === undefined || trustProxy === true) return false
  // Express lists the addresses that trusted proxies name.
  return ips.length === 0 && !isPublicHost(toHost(socket.remoteAddress ?? ''))
}

/** An address of a socket as `URL` writes it. */
function toHost(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, '')
  return plain.includes(':') ? `[${plain}]` : plain
}

/** How a request that may not pass is refused: 429 while its address is locked, else 401, which makes browsers ask for the password. */
type AdminRefusal = Readonly<{ status: 401 | 429; headers: Record<string, string>; message: string }>

const UNAUTHORIZED: AdminRefusal = {
  status: 401,
  headers: { 'WWW-Authenticate': 'Basic realm="Vitrine", charset="UTF-8"' },
  message: 'The user is admin, the password that of VITRINE_ADMIN_PASSWORD.',
}

/**
 * Compare the admin password and ask the limiter. A request without a password is a browser's first one, or a probe: it
 * guesses nothing and never counts. `address` is a key made by `toLimiterKey`.
 * @returns `null` when the request may pass
 */
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
    message: `Too many wrong admin passwords came from this address. It is locked for ${Math.ceil(lockedMs / MINUTE_MS)} more minutes, for the right password too.`,
  }
}

/** Hashes are compared: the time taken tells neither length nor beginning. */
function isAdminPassword(authorization: string, password: Secret): boolean {
  const [scheme = '', encoded = ''] = authorization.split(' ')
  const credentials = scheme.toLowerCase() === 'basic' ? Buffer.from(encoded, 'base64').toString('utf8') : ''
  return timingSafeEqual(
    hash('sha256', credentials, 'buffer'),
    hash('sha256', `admin:${password.reveal()}`, 'buffer'),
  )
}
