import { vi } from 'vitest'

/**
 * CI machines are busy, so a wait must only fail if its condition never becomes true. This timeout applies to all waits and
 * overrides that of a test.
 */
const WAIT_TIMEOUT_MS = 60_000

/** Most conditions become true within a few milliseconds. */
const POLL_INTERVAL_MS = 5

const { waitFor } = vi

const waitForWithLongTimeout: typeof waitFor = (callback, options) =>
  waitFor(callback, {
    interval: POLL_INTERVAL_MS,
    ...(typeof options === 'object' && options),
    timeout: WAIT_TIMEOUT_MS,
  })

// Files in the same worker share `vi`, and each runs this.
if (waitFor.name !== 'waitForWithLongTimeout') vi.waitFor = waitForWithLongTimeout
