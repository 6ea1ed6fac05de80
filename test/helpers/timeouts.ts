import { vi } from 'vitest'

/**
 * Machines of CI are busy: a wait that ends without what it waited for has to mean that it never comes. It holds for every wait,
 * whatever a test says.
 */
const WAIT_TIMEOUT_MS = 60_000

/** Most of what is waited for comes within a few milliseconds. */
const POLL_INTERVAL_MS = 5

const { waitFor } = vi

const waitForWithLongTimeout: typeof waitFor = (callback, options) =>
  waitFor(callback, {
    interval: POLL_INTERVAL_MS,
    ...(typeof options === 'object' && options),
    timeout: WAIT_TIMEOUT_MS,
  })

// Files that share a worker share `vi`, and each runs this.
if (waitFor.name !== 'waitForWithLongTimeout') vi.waitFor = waitForWithLongTimeout
