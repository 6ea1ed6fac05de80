import { timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type ChannelView, fetchChannelView } from './channel-view.ts'
import { KEY_PREFIX_CHARACTERS } from './keys.ts'
import type { CatalogStore, RunNow } from './open-store.ts'
import type { Organization } from './organizations.ts'

/** Keys, channels and organizations that are kept: more than one service has; the rest is read again. */
const MAX_KEPT = 1_000

/** Approvals that all kept channels have together, some 50 MB; a channel that has more of them is kept alone. */
const MAX_APPROVALS = 500_000

/** A valid key, and whose it is. */
export type KeyHolder = Readonly<{ keyId: string; organization: Organization }>

/**
 * What every request needs of the catalog, kept for as long as nobody commits a change: a revoked key or approval counts
 * from the next request on, whichever process revoked it.
 */
export type AtHand = Readonly<{
  /** Whose valid key this is; `hash` is the key's. */
  findKeyHolder(key: string, hash: string): KeyHolder | undefined
  /** The oldest organization. */
  findFirstOrganization(): Organization | undefined
  /** What the organization's channel may show; `undefined` when it has no such channel. */
  findView(organizationId: string, channelId: string): ChannelView | undefined
}>

type Kept = {
  readonly version: number
  readonly holders: LRUCache<string, KeyHolder>
  readonly views: LRUCache<string, ChannelView>
  first: Organization | undefined
}

/** Keeps what is at hand of an open store. */
export function createAtHand(store: CatalogStore): AtHand {
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
    views: new LRUCache({
      max: MAX_KEPT,
      maxSize: MAX_APPROVALS,
      sizeCalculation: (view) => Math.min(countApprovals(view), MAX_APPROVALS),
    }),
  }
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

/** The database is asked by the part of the key that is no secret; the rest is compared here, in a time that tells nothing. */
function fetchKeyHolder(read: RunNow, key: string, hash: string): KeyHolder | undefined {
  const own = Buffer.from(hash)
  const rows = read<{ keyId: string; hash: string } & Organization>(SELECT_KEYS, [
    key.slice(0, KEY_PREFIX_CHARACTERS),
  ])
  const found = rows.find((row) => timingSafeEqual(Buffer.from(row.hash), own))
  return found && { keyId: found.keyId, organization: { id: found.id, dailyLimit: found.dailyLimit } }
}

/** A channel of another organization is as unknown as one that does not exist. */
function fetchOwnView(read: RunNow, organizationId: string, channelId: string): ChannelView | undefined {
  const found = read('select 1 from channels where id = ? and organization_id = ?', [
    channelId,
    organizationId,
  ])
  return found.length === 0 ? undefined : fetchChannelView(read, channelId)
}
