import { closeSync, lstatSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { BenchUsageError } from './arguments.mjs'
import { toJson } from './report.mjs'

const REASONS = {
  ENOENT: 'there is no such folder',
  ENOTDIR: 'there is no such folder',
  EISDIR: 'that is a folder',
  EACCES: 'it may not be written here',
  EPERM: 'it may not be written here',
  EROFS: 'it may not be written here',
}

/**
 * The file of a run: the one that was asked for, or one in bench/ for each major version of Node.
 * @param {{ options: { jsonPath: string | null }, machine: { node: string } }} run
 */
export function nameResults({ options, machine }) {
  const major = /\d+/.exec(machine.node)[0]
  return options.jsonPath ?? fileURLToPath(new URL(`../results-${major}.json`, import.meta.url))
}

/**
 * Tries whether a file can be written, before anything is measured for it; leaves it as it is.
 * @param {string} path
 * @throws BenchUsageError with the reason in plain words
 */
export function checkWritable(path) {
  try {
    const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined
    closeSync(openSync(path, 'a'))
    if (!isThere) rmSync(path)
  } catch (error) {
    const reason = REASONS[error.code] ?? error.code ?? error.message
    throw new BenchUsageError(`--json: ${path} cannot be written: ${reason}`, { cause: error })
  }
}

/** Writes every round so far. */
export function writeResults(path, found) {
  writeFileSync(path, `${JSON.stringify(toJson(found), null, 2)}\n`)
}
