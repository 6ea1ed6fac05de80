import { SECOND_MS } from '../clock.ts'
import { isOwnerGone } from '../storage/lease-owner.ts'
import type { WalkStore } from '../storage/store.ts'

/** How long a walk may go without a sign of life before another process may take it over: with a look now and then, within a minute. */
export const LEASE_MS: number = 45 * SECOND_MS

type LeaseDetails = Readonly<{ store: WalkStore; owner: string }>

/** The lease of a walk that was killed on this machine is free at once. */
export async function takeLease(details: LeaseDetails, channelId: string): Promise<boolean> {
  if (await extendLease(details, channelId)) return true
  const owner = await details.store.findLeaseOwner(channelId)
  if (owner === null || !isOwnerGone(owner)) return false
  await details.store.releaseLease(channelId, owner)
  return extendLease(details, channelId)
}

/** Shows that the walk lives; `false`: another process has taken it over. */
export function extendLease(details: LeaseDetails, channelId: string): Promise<boolean> {
  return details.store.takeLease(channelId, { owner: details.owner, forMs: LEASE_MS })
}
