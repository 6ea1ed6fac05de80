import { MAX_PAGE_PRODUCTS, type Channel } from '../catalog/contract.ts'
import { createTakenOver } from './lease-lost.ts'
import { LEASE_MS, extendLease } from './walk-lease.ts'
import type { WalkDetails } from './walk.ts'

/** A walk that waits for its share shows that it lives this often. */
const WAIT_STEP_MS: number = LEASE_MS / 3

/** How many products a walk expects, and how many it has. */
export type Counts = Readonly<{ expectedCount: number; productCount: number }>

/** How long a walk waits before its next page, in milliseconds, so as not to use up its share too soon. */
export function computeShareWaitMs({ mayWait, gate }: WalkDetails, counts: Counts): number {
  const pagesToGo = Math.ceil((counts.expectedCount - counts.productCount) / MAX_PAGE_PRODUCTS)
  return mayWait ? gate.computeWalkWaitMs(Math.max(1, pagesToGo)) : 0
}

/** A walk that would not fit into its share of the daily limit is stretched over the day, and into the next. */
export async function waitForShare(details: WalkDetails, channel: Channel, counts: Counts): Promise<void> {
  let leftMs = computeShareWaitMs(details, counts)
  if (leftMs > 0) {
    const { productCount } = counts
    details.onProgress?.({ channel, productCount, isDone: false, isWaiting: true })
  }
  while (leftMs > 0 && !details.signal.aborted) {
    const stepMs = Math.min(leftMs, WAIT_STEP_MS)
    await details.clock.wait(stepMs, details.signal)
    leftMs -= stepMs
    // A walk that was told to stop gives its lease back, and does not take it for longer.
    if (details.signal.aborted) return
    if (!(await extendLease(details, channel.id))) throw createTakenOver()
  }
}
