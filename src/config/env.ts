import { accessSync, constants, lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { ConfigError } from '../errors.ts'
import { PACKAGE_FOLDER } from '../lib/files.ts'
import { type Environment, findMeantSetting } from './config.ts'
import { readSettingsFile } from './settings-file.ts'

/** A comment, or a line with the lines that its quoted value continues on. */
const ENTRY = /^[ \t]*#.*$|^[^\n=]*(?:=[ \t]*(?:"[^"]*"|'[^']*'|`[^`]*`))?.*$/gm

/** Where a name begins that may be meant as a setting, also after words such as `set` or `declare -x`. */
const MEANT_AS_SETTING = /(?<!\w)vitrine[\W_][^]*/i
const SETTING = /^[ \t]*VITRINE_[A-Z0-9_]*[ \t]*=/
/** A value without quotes that has a "#" after another character than a space: Node drops the rest. */
const CUT_OFF = /^[ \t]*VITRINE_[A-Z0-9_]*[ \t]*=[ \t]*(?!["'`])[^\n#]*[^\s#=]#/
const COMMENT = /^\s*(?:#|;|\/\/)/
/** Node knows only one space after it. */
const EXPORT = /^[ \t]*export[ \t]+/

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
  for (const [rawEntry] of text.replace(/\r\n?/g, '\n').matchAll(ENTRY)) {
    const entry = rawEntry.replace(EXPORT, '')
    if (isLostSetting(entry))
      problems.push(`.env ${place}, line ${line}: write the setting as VITRINE_NAME=value`)
    else if (CUT_OFF.test(entry))
      problems.push(`.env ${place}, line ${line}: put the value in quotes, because "#" begins a comment`)
    else if (entry.includes('=')) entries.push(entry)
    line += entry.split('\n').length
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return parseEnv(entries.join('\n'))
}

/** Whether an entry is meant as a setting, but Node would drop it or take another name. */
function isLostSetting(entry: string): boolean {
  if (COMMENT.test(entry) || SETTING.test(entry)) return false
  const [name = ''] = entry.split('=', 1)
  const words = MEANT_AS_SETTING.exec(name)?.[0].match(/[a-z0-9]+/gi) ?? []
  const meantName = words
    .map((_word, index) => findMeantSetting(words.slice(0, index + 1).join('_')))
    .find((found) => found !== undefined)
  // A name alone, as for Docker: the value comes from the environment.
  const isPassedThrough = entry.trim() === meantName && process.env[meantName] !== undefined
  return meantName !== undefined && !isPassedThrough
}

function isSearchable(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK)
    return true
  } catch {
    return false
  }
}
