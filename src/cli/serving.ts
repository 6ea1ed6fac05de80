import { SECOND_MS } from '../clock.ts'
import type { Context } from '../context.ts'
import type { CommandIo } from './command.ts'

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

/** What SIGHUP brings about. */
export type HangUps = Readonly<{
  /** From now on SIGHUP calls this; one that came before does so at once. */
  answerWith(listener: () => void): void
}>

/** Heeds SIGHUP from the first moment on: one that comes during the start waits for its end, and never ends the process. */
export function heedHangUps(io: Pick<CommandIo, 'onHangUp'>): HangUps {
  let isEarly = false
  let answer = (): void => void (isEarly = true)
  io.onHangUp(() => answer())
  return {
    answerWith(listener) {
      answer = listener
      if (isEarly) listener()
    },
  }
}

/** SIGHUP: a new key ends the pause that the old one brought about. Answers whether it is another one. */
export async function takeNewKey({ key, gate, logger }: Context): Promise<boolean> {
  const isNew = await key.refresh()
  if (isNew) gate.liftKeyPause()
  const words = 'told to read the key again: it is the one used so far, or its file holds none'
  logger.info(isNew ? 'told to read the key again: it is another one now' : words)
  return isNew
}
