import { timingSafeEqual } from 'node:crypto'
import type { Secret } from '../config/secrets.ts'
import { ServiceError } from '../errors.ts'
import type { AtHand, KeyHolder } from './store/at-hand.ts'
import { hashApiKey } from './store/keys.ts'

/** RFC 6750, section 2.1; the bound keeps a huge header from being hashed. */
const BEARER = /^Bearer +([\w.~+/=-]{1,256}) *$/i

/** Whose request it is; `keyId` is `null` for the key of this process. */
export type Caller = Readonly<{ organization: KeyHolder['organization']; keyId: string | null }>

/** Answers whose request it is. @throws ServiceError 401 when the key is missing, wrong or revoked. */
export type Authenticate = (authorization: string | undefined) => Caller

/** `ownKey`: a key that is known to this process only. */
export type AuthenticateOptions = Readonly<{ atHand: AtHand; ownKey?: Secret | undefined }>

/**
 * Checks keys against `ownKey` when one is given, and against the store. The own key stands for the catalog's first
 * organization at the time of each call, so it outlives an import that makes one.
 */
export function createAuthenticate({ atHand, ownKey }: AuthenticateOptions): Authenticate {
  const ownHash = ownKey === undefined ? undefined : Buffer.from(hashApiKey(ownKey.reveal()))
  return (authorization) => {
    const key = BEARER.exec(authorization ?? '')?.[1]
    if (key === undefined)
      throw new ServiceError(401, 'the header "Authorization: Bearer <API key>" is missing')
    const hash = hashApiKey(key)
    if (ownHash !== undefined && timingSafeEqual(Buffer.from(hash), ownHash)) {
      const organization = atHand.findFirstOrganization()
      if (organization === undefined) throw new ServiceError(503, 'the catalog is empty: import a feed first')
      return { organization, keyId: null }
    }
    const holder = atHand.findKeyHolder(key, hash)
    if (holder === undefined) throw new ServiceError(401, 'the API key is wrong or revoked')
    return holder
  }
}
