import { timingSafeEqual } from 'node:crypto'
import type { Secret } from '../config/secrets.ts'
import { CatalogServiceError } from '../errors.ts'
import type { Caller, CatalogStore } from './store/catalog-store.ts'
import { hashApiKey } from './store/keys.ts'

/** RFC 6750, section 2.1. The length limit keeps huge headers from being hashed. */
const BEARER_HEADER = /^Bearer +([\w.~+/=-]{1,256}) *$/i

/** The result throws CatalogServiceError 401 for an invalid key. `internalKey` belongs to the oldest organization. */
export function createAuthenticator(
  store: Pick<CatalogStore, 'findCaller' | 'findDefaultCaller'>,
  internalKey?: Secret,
) {
  const internalKeyHash = internalKey && Buffer.from(hashApiKey(internalKey.reveal()))
  return async (authorization: string | undefined): Promise<Caller> => {
    const key = BEARER_HEADER.exec(authorization ?? '')?.[1]
    if (key === undefined)
      throw new CatalogServiceError(401, 'the header "Authorization: Bearer <API key>" is missing')
    if (internalKeyHash !== undefined && timingSafeEqual(Buffer.from(hashApiKey(key)), internalKeyHash)) {
      const caller = await store.findDefaultCaller()
      if (caller === undefined)
        throw new CatalogServiceError(503, 'the catalog is empty: import a feed first')
      return caller
    }
    const caller = await store.findCaller(key)
    if (caller === undefined) throw new CatalogServiceError(401, 'the API key is wrong or revoked')
    return caller
  }
}
