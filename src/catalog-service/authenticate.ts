import { timingSafeEqual } from 'node:crypto'
import type { Secret } from '../config/secrets.ts'
import { CatalogServiceError } from '../errors.ts'
import type { Caller, CatalogStore } from './store/catalog-store.ts'
import { hashApiKey } from './store/keys.ts'

/** RFC 6750, section 2.1; the bound keeps a huge header from being hashed. */
const BEARER_HEADER = /^Bearer +([\w.~+/=-]{1,256}) *$/i

/**
 * Check keys against the store, and against `ownKey`, a key known to this process only. That stands for the catalog's first
 * organization at the time of each call, so it outlives an import that makes one. The returned function gives the sender of a
 * request, and throws CatalogServiceError 401 when the key is missing, wrong or revoked.
 */
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
