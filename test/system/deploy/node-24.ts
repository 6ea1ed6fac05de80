import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

/** A version of the image's release line; the npm package contains only the program. */
const VERSION = '24.21.0'

/**
 * Return the path of Node 24, the version of the image: the running program, or a download into `.nodes/`. Rejects if the
 * download fails.
 */
export async function findNode24(): Promise<string> {
  if (process.versions.node.startsWith('24.')) return process.execPath
  const folder = join(PACKAGE_FOLDER, '.nodes/24')
  const name = `node-${process.platform}-${process.arch}`
  const program = join(folder, 'node_modules', name, 'bin/node')
  if (!existsSync(program)) {
    const args = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', `${name}@${VERSION}`]
    await promisify(execFile)('npm', args, { cwd: PACKAGE_FOLDER })
  }
  return program
}
