import { createHash, timingSafeEqual } from 'node:crypto'
import type { Request, RequestHandler } from 'express'
import { rateLimit } from 'express-rate-limit'
import { MINUTE_MS } from '../clock.ts'
import type { Context } from '../context.ts'
import { UnknownAddressError } from '../errors.ts'
import { isLocalDemo, isLoopback } from '../http/local-demo.ts'
import type { Secret } from '../config/secrets.ts'

/** Wrong passwords from one address before it has to wait; a person mistypes, a program guesses. */
const MAX_FAILURES = 10
const FAILURE_WINDOW_MS: number = 15 * MINUTE_MS

/** Headers that only a proxy sets: then "loopback" says nothing about who is asking. */
const FORWARDING_HEADERS = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
]

/**
 * Who may see `/studio` and `/metrics`: with an admin password whoever knows it; without one only a local demonstration
 * that is not reached through a proxy. To everybody else the address does not exist.
 */
export function createAdminGate(context: Context): readonly RequestHandler[] {
  const password = context.secrets.adminPassword
  if (password === null)
    return [(request, _response, next) => next(isOpen(context, request) ? undefined : createUnknown())]
  const limiter = rateLimit({
    windowMs: FAILURE_WINDOW_MS,
    limit: MAX_FAILURES,
    skipSuccessfulRequests: true,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    // Which proxies are trusted is a setting of ours; the package would print about it on standard error.
    validate: { trustProxy: false, xForwardedForHeader: false },
  })
  return [limiter, createPasswordCheck(password)]
}

/** Is the studio's address worth printing? */
export function isStudioReachable(context: Pick<Context, 'config' | 'secrets'>): boolean {
  return context.secrets.adminPassword !== null || isLocalDemo(context.config)
}

function isOpen(context: Context, request: Request): boolean {
  return (
    isLocalDemo(context.config) &&
    isOwnName(request.headers.host ?? '') &&
    !FORWARDING_HEADERS.some((name) => request.headers[name] !== undefined)
  )
}

/** A page elsewhere can point a name of its own at this machine, and a proxy hands the public one on: not by those. */
function isOwnName(host: string): boolean {
  return URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname)
}

function createUnknown(): UnknownAddressError {
  return new UnknownAddressError('closed without an admin password')
}

function createPasswordCheck(password: Secret): RequestHandler {
  return (request, response, next) => {
    if (isPassword(request.get('authorization') ?? '', password)) return next()
    response.set('WWW-Authenticate', 'Basic realm="Vitrine", charset="UTF-8"')
    response
      .status(401)
      .type('text')
      .send('The user is admin, the password that of VITRINE_ADMIN_PASSWORD.\n')
  }
}

/** Compares hashes, so that the time taken tells neither length nor beginning. */
function isPassword(authorization: string, password: Secret): boolean {
  const [scheme = '', encoded = ''] = authorization.split(' ')
  const given = scheme.toLowerCase() === 'basic' ? Buffer.from(encoded, 'base64').toString('utf8') : ''
  return timingSafeEqual(digest(given), digest(`admin:${password.reveal()}`))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
