import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'

/** One of the image's line; the package is the program of that version and nothing else. */
const VERSION = '24.21.0'

/**
 * The program of the Node that the image has: this one when it is of that line, else fetched once into `.nodes/`. Rejects
 * when it cannot be had.
 */
export async function findNode24(): Promise<string> {
  if (process.versions.node.startsWith('24.')) return process.execPath
  const folder = join(PACKAGE_FOLDER, '.nodes/24')
  const name = `node-${process.platform}-${process.arch}`
  const program = join(folder, 'node_modules', name, 'bin/node')
  if (!existsSync(program)) {
    const words = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', `${name}@${VERSION}`]
    await promisify(execFile)('npm', words, { cwd: PACKAGE_FOLDER })
  }
  return program
}
