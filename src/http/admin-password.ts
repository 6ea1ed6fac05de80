import { createHash, timingSafeEqual } from 'node:crypto'
import type { AdminLimiter } from './admin-limiter.ts'
import { MINUTE_MS, SECOND_MS } from '../clock.ts'
import type { Secret } from '../config/secrets.ts'

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
