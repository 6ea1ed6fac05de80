import { accessSync, constants, lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { ConfigError } from '../errors.ts'
import { PACKAGE_FOLDER } from '../lib/paths.ts'
import type { Environment } from './config.ts'
import { readSettingsFile } from './settings-file.ts'

/** A comment, or a line with the lines that its quoted value continues on. */
const ENTRY = /^[ \t]*#.*$|^[^\n=]*(?:=[ \t]*(?:"[^"]*"|'[^']*'|`[^`]*`))?.*$/gm

/** A name that was meant as a setting, also after words such as `set`, in other letters, or with an invisible character. */
const MEANT_AS_SETTING = /^\W*(?:\w+\W+)?vitrine[\W_]/i
const SETTING = /^[ \t]*(?:export[ \t]+)?VITRINE_[A-Z0-9_]*[ \t]*=/

/**
 * Read the environment, which takes precedence, and one `.env` file: that of the current folder, or if there is none, the one
 * beside package.json. @throws ConfigError or FileError if the file is unreadable.
 */
export function readEnvironment(
  currentFolder: string = '',
  packageFolder: string = PACKAGE_FOLDER,
): Environment {
  const fromFile =
    readEnvFile(join(currentFolder, '.env'), 'in the current folder') ??
    readEnvFile(join(packageFolder, '.env'), 'beside package.json')
  return { ...fromFile, ...process.env }
}

/** Return the environment without the file `.env`. */
export function getOwnEnvironment(): Environment {
  return process.env
}

/** Whether `npm start` or `npm run` started this process. */
export function isRunByNpm(): boolean {
  return process.env['npm_lifecycle_event'] !== undefined
}

/** Return `undefined` if there is no such file, or nobody can know: this user may not search the folder. */
function readEnvFile(path: string, place: string): Environment | undefined {
  return isAbsent(path) ? undefined : parseEnvText(readSettingsFile(path, `.env ${place}`), place)
}

/** A link to a missing file is not absent: its volume may be mounted later. */
function isAbsent(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' && !isSearchable(dirname(path))
  }
}

/** Parse a file so that no setting is lost: Node drops a line without "=", or joins it with the next one. */
function parseEnvText(text: string, place: string): Environment {
  const problems: string[] = []
  const entries: string[] = []
  let line = 1
  for (const [entry] of text.replace(/\r\n?/g, '\n').matchAll(ENTRY)) {
    const [name = ''] = entry.split('=', 1)
    if (MEANT_AS_SETTING.test(name) && !name.trimStart().startsWith('#') && !SETTING.test(entry))
      problems.push(`.env ${place}, line ${line}: write the setting as VITRINE_NAME=value`)
    else if (entry.includes('=')) entries.push(entry)
    line += entry.split('\n').length
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return parseEnv(entries.join('\n'))
}

function isSearchable(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK)
    return true
  } catch {
    return false
  }
}
