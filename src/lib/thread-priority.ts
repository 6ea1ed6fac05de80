import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/** How much less than the threads that answer; on an idle machine it costs nothing. */
const NICENESS = 10

/**
 * Let this thread run after all others where cores are short: an answer comes before a page of a walk. Linux keeps the
 * niceness of each thread; elsewhere it would be that of the whole process, and nothing is done.
 */
export function lowerThreadPriority(): void {
  if (process.platform !== 'linux') return
  try {
    const threadId = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    if (threadId !== process.pid && threadId > 0) setPriority(threadId, NICENESS)
  } catch {
    // Without /proc, or where it is not allowed, the walk goes on as any other thread.
  }
}
