import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { PACKAGE_FOLDER } from '../paths.ts'
import type { Environment } from './parse-config.ts'

/** Reads the environment and the `.env` file beside package.json; the real environment wins. The only reader of it. */
export function readEnvironment(): Environment {
  return { ...readEnvFile(join(PACKAGE_FOLDER, '.env')), ...process.env }
}

function readEnvFile(path: string): Environment {
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch {
    return {}
  }
}
