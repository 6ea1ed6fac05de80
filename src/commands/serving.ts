import { SECOND_MS } from '../clock.ts'
import type { Context } from '../context.ts'

/**
 * How long a server that was told to end by SIGTERM, as balancers and orchestrators do, says so at `/readyz` before it
 * takes no more connections. A person at a keyboard (Ctrl-C) does not wait for it.
 */
const SIGTERM_DRAIN_MS: number = 0.75 * SECOND_MS

/** How long the server goes on answering after it was told to stop. */
export function computeDrainMs(signal: AbortSignal): number {
  return signal.reason === 'SIGTERM' ? SIGTERM_DRAIN_MS : 0
}

/** Resolves when the process was told to stop. */
export function waitForStop(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}

/** SIGHUP: a new key ends the pause that the old one brought about. Answers whether it is another one. */
export async function takeNewKey({ key, gate, logger }: Context): Promise<boolean> {
  const isNew = await key.refresh()
  if (isNew) gate.liftKeyPause()
  const words = 'told to read the key again: it is the one used so far, or its file holds none'
  logger.info(isNew ? 'told to read the key again: it is another one now' : words)
  return isNew
}
