import { vi } from 'vitest'

/**
 * Machines of CI are busy: a wait that ends without what it waited for has to mean that it never comes. It holds for every wait,
 * whatever a test says.
 */
const PATIENCE_MS = 60_000

const { waitFor } = vi
vi.waitFor = (callback, options) =>
  waitFor(callback, typeof options === 'number' ? options : { ...options, timeout: PATIENCE_MS })
