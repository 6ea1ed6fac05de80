import { accessSync, closeSync, constants, openSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ImportError } from '../../errors.ts'
import { cleanText } from '../../offers/text.ts'
import type { Reject } from './feed-row.ts'

const BUFFER_CHARACTERS = 65_536

/** Distinct reasons that are counted for the summary; further ones are only written to the file. */
const MAX_REASONS = 100

/** Both may quote the feed, so they are limited. */
const MAX_FIELD_CHARACTERS = 100
const MAX_REASON_CHARACTERS = 300

const TOP_REASONS = 3

/** A value that a reason quotes, and how many different ones a summary names. */
const VALUE = /"[^"]*"|\d[\d.,]*/
const ALL_VALUES = new RegExp(VALUE, 'g')
const MAX_VALUES = 3

/** A feed made to be rejected must not fill the disk. Counts go on. */
const MAX_WRITTEN = 10_000
const MAX_WRITTEN_CHARACTERS: number = 20 * 1024 * 1024

export type RejectsFile = ReturnType<typeof createRejectsFile>

/** Paths for the rejects of a file: beside it, else in the current folder. */
export function listRejectsPaths(file: string, currentFolder: string = process.cwd()): readonly string[] {
  const name = `${basename(file)}.rejects`
  return [join(dirname(file), name), join(currentFolder, name)]
}

/** Write to the first writable path. An old file is removed; a new one is created with the first reject. */
export function createRejectsFile(candidates: readonly string[]) {
  // Touch the current folder only when needed: it may contain the rejects of another feed with this name.
  candidates.some(removeIfWritable)
  let opened: ReturnType<typeof openFirstWritable> | undefined
  let writeError: ImportError | undefined
  let isClosed = false
  let count = 0
  const reasons = new Map<string, CountedReason>()
  let buffer = ''
  let [writtenCount, writtenCharacters, lastRow] = [0, 0, 0]
  const write = (reject: Reject): void => {
    const line = `${JSON.stringify(reject)}\n`
    buffer += line
    writtenCount += 1
    writtenCharacters += line.length
  }
  const flush = (): void => {
    if (buffer === '') return
    const text = buffer
    buffer = ''
    opened ??= openFirstWritable(candidates)
    try {
      writeFileSync(opened.descriptor, text)
    } catch (error) {
      throw toImportError(error, opened.path)
    }
  }
  return {
    add(rejects: readonly Reject[]): void {
      for (const { row, field: fullField, reason: fullReason, raw } of rejects) {
        const field = cleanText(fullField, MAX_FIELD_CHARACTERS)
        const reason = cleanText(fullReason, MAX_REASON_CHARACTERS)
        count += 1
        countReason(reasons, `${field}: ${reason}`)
        lastRow = row
        if (writtenCount < MAX_WRITTEN && writtenCharacters < MAX_WRITTEN_CHARACTERS)
          write({ row, field, reason, raw })
      }
      if (buffer.length > BUFFER_CHARACTERS) flush()
    },
    /** Flush and close the file. Closing twice does nothing. Never throws: `getPath` reports the error. */
    close(): void {
      if (isClosed) return
      isClosed = true
      const omitted = count - writtenCount
      if (omitted > 0) write({ row: lastRow, field: 'row', reason: `and ${omitted} more`, raw: '' })
      try {
        flush()
        if (opened !== undefined) closeSync(opened.descriptor)
      } catch (error) {
        writeError = toImportError(error, opened?.path ?? candidates.join(' or '))
      }
    },
    getCount: () => count,
    /** Return the most frequent reasons with their counts. Those that differ only in values count together. */
    getTopReasons: (): readonly (readonly [reason: string, count: number])[] =>
      [...reasons.values()]
        .toSorted((one, other) => other.count - one.count)
        .slice(0, TOP_REASONS)
        .map((reason) => [describeReason(reason), reason.count]),
    /** Return the path; `null` when nothing was rejected. @throws ImportError when the file is incomplete. */
    getPath(): string | null {
      if (writeError !== undefined) throw writeError
      return opened?.path ?? null
    },
  }
}

type CountedReason = { first: string; values: Set<string>; count: number }

function countReason(reasons: Map<string, CountedReason>, reason: string): void {
  const value = VALUE.exec(reason)?.[0] ?? ''
  const key = reason.replaceAll(ALL_VALUES, '')
  const known = reasons.get(key)
  if (known === undefined) {
    if (reasons.size < MAX_REASONS) reasons.set(key, { first: reason, values: new Set([value]), count: 1 })
    return
  }
  known.count += 1
  if (known.values.size <= MAX_VALUES) known.values.add(value)
}

/** Name the values: `the condition "used", "B" is not known to mean new`. */
function describeReason({ first, values }: CountedReason): string {
  const named = [...values].slice(0, MAX_VALUES).join(', ')
  const text = first.replace(VALUE, () => (values.size > MAX_VALUES ? `${named} …` : named))
  return cleanText(text, MAX_FIELD_CHARACTERS + MAX_REASON_CHARACTERS)
}

function toImportError(error: unknown, path: string): ImportError {
  if (error instanceof ImportError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
  return new ImportError(`rejected rows cannot be written to ${path} (${code})`, { cause: error })
}

function openFirstWritable(candidates: readonly string[]): Readonly<{ path: string; descriptor: number }> {
  let cause: unknown
  for (const path of candidates) {
    try {
      // `wx` creates a new file: it never overwrites a file or follows a link that appeared meanwhile.
      rmSync(path, { force: true })
      return { path, descriptor: openSync(path, 'wx') }
    } catch (error) {
      cause = error
    }
  }
  throw new ImportError(`rejected rows cannot be written to ${candidates.join(' or ')}`, { cause })
}

/** Remove an existing file. Return `false` when the path is not writable or is a folder. */
function removeIfWritable(path: string): boolean {
  try {
    accessSync(dirname(path), constants.W_OK)
    rmSync(path, { force: true })
    return true
  } catch {
    return false
  }
}
