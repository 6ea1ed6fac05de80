import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS } from '../clock.ts'

/** A sub-id that was counted in so many different minutes is in use: invented ones rarely come back. */
const CONFIRMING_MINUTES = 3

/** About 2 MB. */
const MAX_SUBS = 10_000

export type SubSightings = Readonly<{
  /** Record that a sub-id is counted now. Return whether it was counted in enough different minutes of the day. */
  record(copyId: number, day: number, sub: string): boolean
}>

/** Create the memory of new sub-ids, by copy and day. It knows nothing about visitors. */
export function createSubSightings(clock: Clock): SubSightings {
  const sightings = new LRUCache<string, Readonly<{ minutes: number; lastMinute: number }>>({ max: MAX_SUBS })
  return {
    record(copyId, day, sub) {
      const key = `${copyId} ${day} ${sub}`
      const minute = Math.floor(clock.nowMs() / MINUTE_MS)
      const found = sightings.get(key)
      if (found?.lastMinute === minute) return found.minutes >= CONFIRMING_MINUTES
      const minutes = (found?.minutes ?? 0) + 1
      sightings.set(key, { minutes, lastMinute: minute })
      return minutes >= CONFIRMING_MINUTES
    },
  }
}
