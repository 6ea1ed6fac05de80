import type { RunNow } from './open-sqlite.ts'

/** The state of the catalog that all reading of one turn of the event loop sees. */
export type Snapshot = Readonly<{
  /** Makes sure that one is open. Answers whether it has just been opened; it ends by itself, with the turn. */
  begin(): boolean
  /** Ends it now, if one is open. */
  end(): void
}>

/**
 * Requests of one moment are read from one state, and what was looked up for one of them holds for all: to begin and end
 * reading costs as much as a look-up. No turn waits for anything, so a snapshot is never open for long.
 */
export function createSnapshot(read: RunNow): Snapshot {
  let isOpen = false
  const end = (): void => {
    if (!isOpen) return
    isOpen = false
    try {
      read('commit', [])
    } catch {
      // SQLite has ended it by itself, where the disk fails or the database is closed; the next one begins anew.
    }
  }
  return {
    begin() {
      if (isOpen) return false
      read('begin', [])
      isOpen = true
      setImmediate(end)
      return true
    },
    end,
  }
}
