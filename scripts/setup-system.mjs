/**
 * `npm run setup:system`: install the packages of system tests, documentation site and embed package (decision 0048). Skip a
 * folder whose package files are unchanged. Arguments name single folders. `--check`: exit 1 if one is not installed, and say
 * what to run.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT_FOLDER = fileURLToPath(new URL('..', import.meta.url))
const FOLDERS = ['test/system', 'site', 'packages/embed']
const toStampPath = (folder) => join(ROOT_FOLDER, folder, 'node_modules/.installed')

function computeDigest(folder) {
  const hash = createHash('sha256')
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    hash.update(readFileSync(join(ROOT_FOLDER, folder, name)))
  return hash.digest('hex')
}

function isInstalled(folder) {
  try {
    return readFileSync(toStampPath(folder), 'utf8') === computeDigest(folder)
  } catch (error) {
    if (error.code === 'ENOENT') return false
    throw error
  }
}

const named = process.argv.slice(2).filter((argument) => argument !== '--check')
const missing = (named.length > 0 ? named : FOLDERS).filter((folder) => !isInstalled(folder))

if (process.argv.includes('--check')) {
  if (missing.length > 0) {
    process.stderr.write(
      `The packages of ${missing.join(', ')} are not installed, or not those of the lock file. Run "npm run setup:system" first.\n`,
    )
    process.exitCode = 1
  }
} else {
  for (const folder of missing) {
    process.stdout.write(`npm ci in ${folder}\n`)
    // It deletes node_modules, so an interrupted installation leaves no stamp.
    execFileSync('npm', ['ci'], { cwd: join(ROOT_FOLDER, folder), stdio: 'inherit' })
    writeFileSync(toStampPath(folder), computeDigest(folder))
  }
}
