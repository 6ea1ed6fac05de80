import { SECOND_MS } from '../clock.ts'
import type { FreshnessConfig } from '../config/config.ts'

/** Where an age stands on the three clocks. `gone`: it may not be shown any more. */
export type Age = 'fresh' | 'stale' | 'rescue' | 'gone'

/** Judges an answer of the catalog by its age; one from the future counts as just given. */
export function judgeAge(asOfMs: number, nowMs: number, config: FreshnessConfig): Age {
  const ageMs = nowMs - asOfMs
  if (ageMs < config.freshSeconds * SECOND_MS) return 'fresh'
  if (ageMs <= config.staleSeconds * SECOND_MS) return 'stale'
  return ageMs <= config.rescueSeconds * SECOND_MS ? 'rescue' : 'gone'
}
