import { LRUCache } from 'lru-cache'
import { type ChannelView, fetchChannelView } from './channel-view.ts'
import { KEY_PREFIX_CHARACTERS, type KeyRow, chooseKey } from './keys.ts'
import type { Caller } from './catalog-store.ts'
import type { RunNow, SqliteCatalogStore } from './open-sqlite.ts'
import type { Organization } from './organizations.ts'

/** Keys, channels and organizations that are kept: more than one service has; the rest is read again. */
export const MAX_KEPT = 1_000

/** Approvals that all kept channels have together, some 50 MB; a channel that has more of them is kept alone. */
const MAX_APPROVALS = 500_000

/**
 * What every request needs of the catalog, kept for as long as nobody commits a change: a revoked key or approval counts
 * from the next request on, whichever process revoked it.
 */
export type AtHand = Readonly<{
  /** Whose valid key this is; `hash` is the key's. */
  findKeyHolder(key: string, hash: string): Caller | undefined
  /** The oldest organization. */
  findFirstOrganization(): Organization | undefined
  /** What the organization's channel may show; `undefined` when it has no such channel. */
  findView(organizationId: string, channelId: string): ChannelView | undefined
}>

type Kept = {
  readonly version: number
  readonly holders: LRUCache<string, Caller>
  readonly views: LRUCache<string, ChannelView>
  first: Organization | undefined
}

/** Keeps what is at hand of an open store. */
export function createAtHand(store: Pick<SqliteCatalogStore, 'read' | 'snapshot'>): AtHand {
  let kept = makeKept(-1)
  let isChecked = false
  const getKept = (): Kept => {
    if (!store.snapshot.begin() && isChecked) return kept
    isChecked = false
    // SQLite counts what other connections commit, of this process and of any other; the reader itself writes nothing.
    const version = store.read<{ data_version: number }>('pragma data_version', [])[0]?.data_version ?? -1
    if (version !== kept.version) kept = makeKept(version)
    isChecked = true
    return kept
  }
  return {
    findKeyHolder(key, hash) {
      const { holders } = getKept()
      const known = holders.get(hash) ?? fetchKeyHolder(store.read, key, hash)
      if (known !== undefined) holders.set(hash, known)
      return known
    },
    findFirstOrganization() {
      const current = getKept()
      current.first ??= store.read<Organization>(SELECT_FIRST, [])[0]
      return current.first
    },
    findView(organizationId, channelId) {
      const { views } = getKept()
      const name = `${organizationId} ${channelId}`
      const known = views.get(name) ?? fetchOwnView(store.read, organizationId, channelId)
      if (known !== undefined) views.set(name, known)
      return known
    },
  }
}

function makeKept(version: number): Kept {
  return {
    version,
    first: undefined,
    holders: new LRUCache({ max: MAX_KEPT }),
    views: makeViewCache(),
  }
}

/** Keeps views of channels, by a name. */
export function makeViewCache(): LRUCache<string, ChannelView> {
  return new LRUCache({
    max: MAX_KEPT,
    maxSize: MAX_APPROVALS,
    sizeCalculation: (view) => Math.min(countApprovals(view), MAX_APPROVALS),
  })
}

function countApprovals(view: ChannelView): number {
  return [...view.values()].reduce((sum, { merchants }) => sum + merchants.size, 1)
}

const SELECT_FIRST = `
  select id, daily_limit as dailyLimit from organizations order by created_at_ms, id limit 1`

const SELECT_KEYS = `
  select k.id as keyId, k.hash, o.id, o.daily_limit as dailyLimit
  from api_keys k join organizations o on o.id = k.organization_id
  where k.prefix = ? and k.revoked_at_ms is null`

/** The database is asked by the part of the key that is no secret. */
function fetchKeyHolder(read: RunNow, key: string, hash: string): Caller | undefined {
  return chooseKey(read<KeyRow>(SELECT_KEYS, [key.slice(0, KEY_PREFIX_CHARACTERS)]), hash, '')
}

/** A channel of another organization is as unknown as one that does not exist. */
function fetchOwnView(read: RunNow, organizationId: string, channelId: string): ChannelView | undefined {
  const found = read('select 1 from channels where id = ? and organization_id = ?', [
    channelId,
    organizationId,
  ])
  return found.length === 0 ? undefined : fetchChannelView(read, channelId)
}
