import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { PACKAGE_FOLDER } from '../lib/paths.ts'
import { ConfigError } from '../errors.ts'
import type { Environment } from './config.ts'

/** Read the environment, which takes precedence, and the `.env` file. @throws ConfigError if the file is unreadable. */
export function readEnvironment(folder: string = PACKAGE_FOLDER): Environment {
  return { ...readEnvFile(join(folder, '.env')), ...process.env }
}

/** Whether `npm start` or `npm run` started this process. */
export function isRunByNpm(): boolean {
  return process.env['npm_lifecycle_event'] !== undefined
}

function readEnvFile(path: string): Environment {
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason'
    if (code === 'ENOENT') return {}
    throw new ConfigError([`cannot read the file .env next to package.json: ${code}`])
  }
}
