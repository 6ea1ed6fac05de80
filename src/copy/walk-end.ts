import type { Channel } from '../catalog/contract.ts'
import { judgeWalk } from './held-walk.ts'
import type { CopyState, HeldWalk, WalkPlace } from './store.ts'
import { createTakenOver } from './taken-over.ts'
import { extendLease } from './walk-lease.ts'
import type { WalkDetails } from './walk.ts'

/** A walk that was read to its end. `before`: the state of the copy when it began. */
export type WalkedPages = Readonly<{ before: CopyState; place: WalkPlace }>

/** `held`: the walk did not become the current one. */
export type WalkEnd = WalkedPages & Readonly<{ held: HeldWalk | null }>

/** Makes the walk the current one, unless it is suspicious. */
export async function endWalk(details: WalkDetails, channel: Channel, walked: WalkedPages): Promise<WalkEnd> {
  const { store, clock } = details
  const { walk } = walked.place
  await keepLease(details, channel)
  const isMalformed = await store.isWalkMalformed(channel.id, walk)
  // Counting a large catalog takes its time.
  await keepLease(details, channel)
  const held = judge(details, walked, isMalformed)
  if (held === null) await store.completeWalk(channel.id, walk, { nowMs: clock.nowMs(), isMalformed })
  else await store.holdWalk(channel.id, walk, held)
  return { ...walked, held }
}

/**
 * Holds a walk that found too few products, before its last page is written: it would end every product behind the page before.
 * `undefined`: the page is to be written. Whether offers are malformed is known only then.
 */
export async function holdUnwritten(
  { store, ...details }: WalkDetails,
  channel: Channel,
  walked: WalkedPages,
): Promise<WalkEnd | undefined> {
  if (!walked.place.isWalked) return undefined
  const held = judge(details, walked, false)
  if (held === null) return undefined
  await store.holdWalk(channel.id, walked.place.walk, held)
  return { ...walked, held }
}

/**
 * The time of the whole walk counts, not that of the channel: channels before this one may take longer now than the next time. One
 * that goes on counts from when it first began.
 */
function judge(
  { isAccepted, beganAtMs, confirmAfterMs }: Pick<WalkDetails, 'isAccepted' | 'beganAtMs' | 'confirmAfterMs'>,
  { before, place }: WalkedPages,
  isMalformed: boolean,
): HeldWalk | null {
  if (isAccepted) return null
  const startedAtMs = Math.min(beganAtMs, place.startedAtMs)
  return judgeWalk(before, { startedAtMs, productCount: place.productCount, isMalformed }, { confirmAfterMs })
}

async function keepLease(details: WalkDetails, channel: Channel): Promise<void> {
  if (!(await extendLease(details, channel.id))) throw createTakenOver()
}
