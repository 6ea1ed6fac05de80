import { timingSafeEqual } from 'node:crypto'
import type { Secret } from '../config/secrets.ts'
import { ServiceError } from '../errors.ts'
import { findOrganizationByKeyHash, hashApiKey } from './store/keys.ts'
import type { CatalogStore } from './store/open-store.ts'
import { findFirstOrganization, type Organization } from './store/organizations.ts'

/** RFC 6750, section 2.1; the bound keeps a huge header from being hashed. */
const BEARER = /^Bearer +([\w.~+/=-]{1,256}) *$/i

/** Answers whose request it is. @throws ServiceError 401 when the key is missing, wrong or revoked. */
export type Authenticate = (authorization: string | undefined) => Promise<Organization>

/**
 * Checks keys against the store, and against `ownKey` when one is given: that key is known to this process only and
 * stands for the catalog's first organization at the time of each call, so it outlives an import that makes one.
 */
export function createAuthenticate(store: CatalogStore, ownKey: Secret | undefined): Authenticate {
  const ownHash = ownKey === undefined ? undefined : Buffer.from(hashApiKey(ownKey.reveal()))
  return async (authorization) => {
    const key = BEARER.exec(authorization ?? '')?.[1]
    if (key === undefined)
      throw new ServiceError(401, 'the header "Authorization: Bearer <API key>" is missing')
    const hash = hashApiKey(key)
    if (ownHash !== undefined && timingSafeEqual(Buffer.from(hash), ownHash)) {
      const organization = await findFirstOrganization(store.reader)
      if (organization === undefined) throw new ServiceError(503, 'the catalog is empty: import a feed first')
      return organization
    }
    const organization = await findOrganizationByKeyHash(store, hash)
    if (organization === undefined) throw new ServiceError(401, 'the API key is wrong or revoked')
    return organization
  }
}
