import { createHash, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../config/secrets.ts'

/** Does an `Authorization` header hold the admin password? Hashes are compared: the time taken tells neither length nor beginning. */
export function isAdminPassword(authorization: string, password: Secret): boolean {
  const [scheme = '', encoded = ''] = authorization.split(' ')
  const given = scheme.toLowerCase() === 'basic' ? Buffer.from(encoded, 'base64').toString('utf8') : ''
  return timingSafeEqual(digest(given), digest(`admin:${password.reveal()}`))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
