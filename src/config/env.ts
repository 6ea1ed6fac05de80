import { accessSync, constants, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { removeByteOrderMark } from '../lib/byte-order-mark.ts'
import { PACKAGE_FOLDER } from '../lib/paths.ts'
import { ConfigError } from '../errors.ts'
import type { Environment } from './config.ts'

/**
 * Read the environment, which takes precedence, and one `.env` file: that of the current folder, or if there is none, the one
 * beside package.json. @throws ConfigError if the file is unreadable.
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
  try {
    return parseEnv(removeByteOrderMark(readFileSync(path, 'utf8')))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason'
    if (code === 'ENOENT' || (code === 'EACCES' && !isSearchable(dirname(path)))) return undefined
    throw new ConfigError([`cannot read the file .env ${place}: ${code}`])
  }
}

function isSearchable(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK)
    return true
  } catch {
    return false
  }
}
