import { readFileSync } from 'node:fs'
import { ConfigError, FileError } from '../errors.ts'
import { NOT_UTF8, decodeTextFile } from '../lib/files.ts'

const DENIED = 'this user may not read the file'
const WRONG_PATH = 'no file can have this path'

/** System errors that stay until someone corrects a path or the rights. Others can pass: a volume may be mounted later. */
const PERMANENT_ERRORS: Readonly<Record<string, string>> = {
  EACCES: DENIED,
  EISDIR: 'it is a folder; Docker creates one when a file to mount is missing',
  ELOOP: WRONG_PATH,
  ENAMETOOLONG: WRONG_PATH,
  ENOTDIR: WRONG_PATH,
  EPERM: DENIED,
}

/**
 * Read a text file of the operator. `subject`: how messages name it.
 * @throws FileError when a restart can help, because the file may appear by itself; otherwise ConfigError
 */
export function readSettingsFile(path: string, subject: string): string {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    throw toFileError(error, subject)
  }
  const text = decodeTextFile(bytes)
  if (text === undefined) throw new ConfigError([`${subject}: the file is ${NOT_UTF8}`])
  return text
}

function toFileError(cause: unknown, subject: string): ConfigError | FileError {
  const code = (cause as NodeJS.ErrnoException).code ?? 'unknown reason'
  const problem = PERMANENT_ERRORS[code]
  if (problem !== undefined) return new ConfigError([`${subject}: ${problem}`])
  const reason = code === 'ENOENT' ? 'the file does not exist' : `the file cannot be read now: ${code}`
  const remedy = 'Create it, mount its volume, or correct the path.'
  return new FileError(`${subject}: ${reason}`, { cause, remedy })
}
