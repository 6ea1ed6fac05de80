import { systemClock } from '../clock.ts'

/** `done`: there is nothing left to fill. */
export type FillOutcome = 'more' | 'done'

/** Pauses after a step by its outcome, in milliseconds. */
export type FillPauses = Readonly<Record<FillOutcome | 'failed', number>>

/** Run `step` repeatedly in the background; `wake` ends the current pause. */
export function startFilling(
  step: () => Promise<FillOutcome>,
  pausesMs: FillPauses,
): Readonly<{ wake(): void; stop(): Promise<void> }> {
  const stopping = new AbortController()
  let currentWait = new AbortController()
  const fill = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // Retry a failed step, for example while another process writes. Other calls report problems of the file.
      const outcome = await step().catch(() => 'failed' as const)
      if (stopping.signal.aborted) return
      currentWait = new AbortController()
      await systemClock.wait(pausesMs[outcome], currentWait.signal)
    }
  }
  const filling = fill()
  return {
    wake: () => currentWait.abort(),
    async stop() {
      stopping.abort()
      currentWait.abort()
      await filling
    },
  }
}
