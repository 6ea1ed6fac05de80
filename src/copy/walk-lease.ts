import { type Clock, MINUTE_MS } from '../clock.ts'
import { WalkError } from '../errors.ts'
import { isOwnerGone } from './lease-owner.ts'
import type { WalkStore } from './store.ts'

/** How long a walk may go without a page before another process may take it over. */
export const LEASE_MS: number = MINUTE_MS

type LeaseDetails = Readonly<{ store: WalkStore; clock: Clock; owner: string }>

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
  const nowMs = details.clock.nowMs()
  return details.store.takeLease(channelId, { owner: details.owner, nowMs, untilMs: nowMs + LEASE_MS })
}

/** What a walk ends with whose lease another process holds. */
export function createTakenOver(): WalkError {
  return new WalkError('another process took the walk over')
}
