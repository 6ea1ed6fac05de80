import type { Channel } from '../catalog/contract.ts'
import { judgeWalk } from './held-walk.ts'
import type { CopyState, HeldWalk, WalkPlace } from '../storage/store.ts'
import { createTakenOver } from './lease-lost.ts'
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
  const { productCount } = walked.place
  details.onProgress?.({ channel, productCount, isDone: true, isWaiting: false })
  return { ...walked, held }
}

/**
 * The times of whole walks are compared, not those of one channel: channels before it may take longer now than the next time. A walk
 * that was resumed counts from when it first began.
 */
function judge(
  details: Pick<WalkDetails, 'clock' | 'isAccepted' | 'beganAtMs' | 'confirmAfterMs' | 'isClockDoubtful'>,
  { before, place }: WalkedPages,
  isMalformed: boolean,
): HeldWalk | null {
  if (details.isAccepted) return null
  const { productCount } = place
  const startedAtMs = Math.min(details.beganAtMs, place.startedAtMs)
  return judgeWalk(
    before,
    { startedAtMs, foundAtMs: details.clock.nowMs(), productCount, isMalformed },
    details,
  )
}

async function keepLease(details: WalkDetails, channel: Channel): Promise<void> {
  if (!(await extendLease(details, channel.id))) throw createTakenOver()
}
