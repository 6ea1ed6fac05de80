import { accessSync, closeSync, constants, openSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ImportError } from '../../errors.ts'
import { cleanText } from '../../offers/text.ts'
import type { Reject } from './feed-row.ts'

const BUFFER_CHARACTERS = 65_536

/** Different reasons that are counted; those that come later only have their lines. */
const MAX_REASONS = 100

/** Characters of a field and of a reason: neither is a place for the feed's own words. */
const MAX_FIELD_CHARACTERS = 100
const MAX_REASON_CHARACTERS = 300

const TOP_REASONS = 3

/** The `.rejects` file of an import. It exists only when something was rejected. */
export type Rejects = ReturnType<typeof createRejects>

/**
 * Removes the file of an earlier import and starts anew: beside the feed, or in `currentFolder` when the feed's
 * folder is not writable.
 */
export function createRejects(file: string, currentFolder: string) {
  const name = `${basename(file)}.rejects`
  const candidates = [join(dirname(file), name), join(currentFolder, name)]
  // The current folder may hold the file of another feed with this name: it is touched only when it is needed.
  candidates.some(removeIfWritable)
  let opened: OpenFile | undefined
  let failure: ImportError | undefined
  let isClosed = false
  let count = 0
  const reasons = new Map<string, number>()
  let buffer = ''
  const flush = (): void => {
    if (buffer === '') return
    const text = buffer
    buffer = ''
    opened ??= openFirst(candidates)
    writeAll(opened, text)
  }
  return {
    add(rejects: readonly Reject[]): void {
      for (const { row, field: fullField, reason: fullReason, raw } of rejects) {
        const field = cleanText(fullField, MAX_FIELD_CHARACTERS)
        const reason = cleanText(fullReason, MAX_REASON_CHARACTERS)
        count += 1
        const key = `${field}: ${reason}`
        if (reasons.size < MAX_REASONS || reasons.has(key)) reasons.set(key, (reasons.get(key) ?? 0) + 1)
        buffer += `${JSON.stringify({ row, field, reason, raw })}\n`
      }
      if (buffer.length > BUFFER_CHARACTERS) flush()
    },
    /** Writes what is left and closes the file. Closing twice does nothing. It never throws: `getPath` tells. */
    close(): void {
      if (isClosed) return
      isClosed = true
      try {
        flush()
        if (opened !== undefined) closeSync(opened.descriptor)
      } catch (error) {
        failure = toImportError(error, opened?.path ?? candidates.join(' or '))
      }
    },
    getCount: () => count,
    getTopReasons: () => [...reasons].sort(([, a], [, b]) => b - a).slice(0, TOP_REASONS),
    /**
     * Where the file is; `null` when nothing was rejected.
     * @throws ImportError when not all of it could be written: nothing is left out without a word.
     */
    getPath(): string | null {
      if (failure !== undefined) throw failure
      return opened?.path ?? null
    },
  }
}

type OpenFile = Readonly<{ path: string; descriptor: number }>

function writeAll({ path, descriptor }: OpenFile, text: string): void {
  try {
    const bytes = Buffer.from(text)
    for (let start = 0; start < bytes.length;) start += writeSync(descriptor, bytes, start)
  } catch (error) {
    throw toImportError(error, path)
  }
}

function toImportError(error: unknown, path: string): ImportError {
  if (error instanceof ImportError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
  return new ImportError(`rejected rows cannot be written to ${path} (${code})`, { cause: error })
}

function openFirst(candidates: readonly string[]): OpenFile {
  let cause: unknown
  for (const path of candidates) {
    try {
      // What stands there by now is not ours, and a link is not followed: `wx` only ever makes a new file.
      rmSync(path, { force: true })
      return { path, descriptor: openSync(path, 'wx') }
    } catch (error) {
      cause = error
    }
  }
  throw new ImportError(`rejected rows cannot be written to ${candidates.join(' or ')}`, { cause })
}

/** Removes the file of an earlier import. `false` when another place is needed: this one is not writable, or taken. */
function removeIfWritable(path: string): boolean {
  try {
    accessSync(dirname(path), constants.W_OK)
    rmSync(path, { force: true })
    return true
  } catch {
    return false
  }
}
