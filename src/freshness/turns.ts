import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { UnavailableError } from '../errors.ts'

/** One thing at a time, and between two of them whatever else waits for this thread. */
export type Turns = Readonly<{
  /**
   * Runs `work` when all that came before it has ended.
   * @throws UnavailableError, without running it, when its turn comes later than `patienceMs` from now.
   */
  take<T>(patienceMs: number, work: () => Promise<T>): Promise<T>
}>

/**
 * Makes a line of its own. SQLite reads on the calling thread: many long reads at once would hold up every answer that
 * is ready, one after the other lets them pass between.
 */
export function createTurns(clock: Clock): Turns {
  let last: Promise<unknown> = Promise.resolve()
  return {
    take(patienceMs, work) {
      const untilMs = clock.nowMs() + patienceMs
      const turn = last.then(async () => {
        if (clock.nowMs() > untilMs) throw new UnavailableError('too much waits to be read from the copy')
        return work()
      })
      last = turn.then(passOn, passOn)
      return turn
    },
  }
}

/** To the next round of the event loop: connections that wait are served first. */
async function passOn(): Promise<void> {
  await setImmediate()
}
