import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Nice value below the threads that serve requests. */
const NICENESS = 10

/** Lower the priority of this thread, so that requests come before a walk. Only Linux has a nice value for each thread. */
export function lowerThreadPriority(): void {
  if (process.platform !== 'linux') return
  try {
    const threadId = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    if (threadId !== process.pid && threadId > 0) setPriority(threadId, NICENESS)
  } catch {
    // Without /proc or the permission, the thread keeps its priority.
  }
}
