import { timingSafeEqual } from 'node:crypto'
import type { Secret } from '../config/secrets.ts'
import { ServiceError } from '../errors.ts'
import type { Awaitable, Caller, CatalogReads } from './store/catalog-store.ts'
import { hashApiKey } from './store/keys.ts'

/** RFC 6750, section 2.1; the bound keeps a huge header from being hashed. */
const BEARER = /^Bearer +([\w.~+/=-]{1,256}) *$/i

/** Answers whose request it is. @throws ServiceError 401 when the key is missing, wrong or revoked. */
export type Authenticate = (authorization: string | undefined) => Awaitable<Caller>

/** `ownKey`: a key that is known to this process only. */
export type AuthenticateOptions = Readonly<{
  reads: Pick<CatalogReads, 'findKeyHolder' | 'findFirstCaller'>
  ownKey?: Secret | undefined
}>

/**
 * Checks keys against `ownKey` when one is given, and against the store. The own key stands for the catalog's first
 * organization at the time of each call, so it outlives an import that makes one.
 */
export function createAuthenticate({ reads, ownKey }: AuthenticateOptions): Authenticate {
  const ownHash = ownKey === undefined ? undefined : Buffer.from(hashApiKey(ownKey.reveal()))
  return (authorization) => {
    const key = BEARER.exec(authorization ?? '')?.[1]
    if (key === undefined)
      throw new ServiceError(401, 'the header "Authorization: Bearer <API key>" is missing')
    const hash = hashApiKey(key)
    if (ownHash !== undefined && timingSafeEqual(Buffer.from(hash), ownHash))
      return whenFound(reads.findFirstCaller(), EMPTY)
    return whenFound(reads.findKeyHolder(key, hash), REFUSED)
  }
}

/** How a request ends that nobody is found for. */
type Refusal = Readonly<{ status: number; words: string }>
const EMPTY: Refusal = { status: 503, words: 'the catalog is empty: import a feed first' }
const REFUSED: Refusal = { status: 401, words: 'the API key is wrong or revoked' }

function whenFound(found: Awaitable<Caller | undefined>, refusal: Refusal): Awaitable<Caller> {
  if (found instanceof Promise) return found.then((caller) => orRefuse(caller, refusal))
  return orRefuse(found, refusal)
}

function orRefuse(caller: Caller | undefined, { status, words }: Refusal): Caller {
  if (caller === undefined) throw new ServiceError(status, words)
  return caller
}
