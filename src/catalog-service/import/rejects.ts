import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ImportError } from '../../errors.ts'
import type { Reject } from './feed-product.ts'

/** Written lines are collected up to this size. */
const BUFFER_CHARACTERS = 65_536

/** Different reasons that are counted; those that come later only have their lines. */
const MAX_REASONS = 100

/** Reasons that are told when nothing could be used. */
const TOP_REASONS = 3

/** The `.rejects` file of an import. It exists only when something was rejected. */
export type Rejects = Readonly<{
  add(rejects: readonly Reject[]): void
  /** Writes what is left and closes the file. Closing twice does nothing. */
  close(): void
  getCount(): number
  /** The reasons that came most often, with how often each did. */
  getTopReasons(): readonly (readonly [reason: string, count: number])[]
  /** Where the file is; `null` when nothing was rejected. */
  getPath(): string | null
}>

/**
 * Removes the file of an earlier import and starts anew: beside the feed, or in `currentFolder` when the feed's
 * folder is not writable.
 */
export function createRejects(file: string, currentFolder: string): Rejects {
  const name = `${basename(file)}.rejects`
  const candidates = [join(dirname(file), name), join(currentFolder, name)]
  for (const candidate of candidates) removeIfPossible(candidate)
  let opened: { path: string; descriptor: number } | undefined
  let isClosed = false
  let count = 0
  const reasons = new Map<string, number>()
  let buffer = ''
  const flush = (): void => {
    if (buffer === '') return
    opened ??= openFirst(candidates)
    writeSync(opened.descriptor, buffer)
    buffer = ''
  }
  return {
    add(rejects) {
      for (const reject of rejects) {
        count += 1
        const key = `${reject.field}: ${reject.reason}`
        if (reasons.size < MAX_REASONS || reasons.has(key)) reasons.set(key, (reasons.get(key) ?? 0) + 1)
        buffer += `${JSON.stringify(reject)}\n`
      }
      if (buffer.length > BUFFER_CHARACTERS) flush()
    },
    close() {
      if (isClosed) return
      flush()
      isClosed = true
      if (opened !== undefined) closeSync(opened.descriptor)
    },
    getCount: () => count,
    getTopReasons: () => [...reasons].sort(([, a], [, b]) => b - a).slice(0, TOP_REASONS),
    getPath: () => opened?.path ?? null,
  }
}

function openFirst(candidates: readonly string[]): { path: string; descriptor: number } {
  let cause: unknown
  for (const path of candidates) {
    try {
      return { path, descriptor: openSync(path, 'w') }
    } catch (error) {
      cause = error
    }
  }
  throw new ImportError(`rejected rows cannot be written to ${candidates.join(' or ')}`, { cause })
}

/** A folder that is not writable keeps the file of an earlier import: the new one then goes elsewhere. */
function removeIfPossible(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // Nothing is lost: opening decides where the new file goes.
  }
}
