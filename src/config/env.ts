import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { PACKAGE_FOLDER } from '../lib/paths.ts'
import { ConfigError } from '../errors.ts'
import type { Environment } from './config.ts'

/**
 * Reads the environment and the `.env` file beside package.json; the real environment wins. The only reader of it.
 * @throws ConfigError when there is a file that cannot be read: without its settings another catalog would be served.
 */
export function readEnvironment(folder: string = PACKAGE_FOLDER): Environment {
  return { ...readEnvFile(join(folder, '.env')), ...process.env }
}

/** Was this process started by `npm start` or `npm run`? */
export function isRunByNpm(): boolean {
  return process.env['npm_lifecycle_event'] !== undefined
}

function readEnvFile(path: string): Environment {
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason'
    if (code === 'ENOENT') return {}
    throw new ConfigError([`the file .env beside package.json cannot be read: ${code}`])
  }
}
