import {
  type Stats,
  existsSync,
  linkSync,
  lstatSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { readSettingsFile } from '../../config/settings-file.ts'
import { UsageError } from '../../errors.ts'
import { COMPOSE_FILE, DEPLOY_FOLDER, PACKAGE_FOLDER, VERSION } from '../../lib/files.ts'
import type { Setup } from './answers.ts'

const OWNER_ONLY = 0o600
const READABLE = 0o644

/** A file to write. `name`: relative to the current folder. */
export type NewFile = Readonly<{ name: string; text: string; mode: number }>

export const FILE_NAMES: Readonly<Record<Setup, readonly string[]>> = {
  env: ['.env'],
  systemd: ['.env', 'vitrine.service'],
  compose: ['.env', 'compose.yaml', 'haproxy.cfg', 'Dockerfile'],
}

/** Where `npm install --prefix` puts the package for systemd. */
export const SYSTEM_PREFIX = '/opt/vitrine'

/** The program of the unit where the sandbox hides the present one. */
export const SYSTEM_NODE = '/usr/bin/node'

/** Create the files of a setup in the order of `FILE_NAMES`. Those of systemd and Compose are copies of files in deploy/. */
export function createFiles(setup: Setup, envText: string): readonly NewFile[] {
  const files: readonly NewFile[] = [{ name: '.env', text: envText, mode: OWNER_ONLY }]
  if (setup === 'systemd') return [...files, toFile('vitrine.service', createUnit())]
  if (setup === 'compose') return [...files, ...createComposeFiles()]
  return files
}

function toFile(name: string, text: string): NewFile {
  return { name, text, mode: READABLE }
}

/** Return the folder of this package; `null` where the unit's sandbox hides it, or npm may remove it. */
export function findPermanentFolder(folder: string = PACKAGE_FOLDER): string | null {
  return isPermanent(folder) && !folder.includes('/_npx/') ? folder : null
}

/** Whether `ProtectHome=` and `PrivateTmp=` let the server read a path. */
export function isPermanent(path: string): boolean {
  return !/^\/(?:home|root|run\/user|tmp|var\/tmp)\//.test(path)
}

/** Return the unit of deploy/ with the paths of Node and of this package. */
export function createUnit(
  node: string = process.execPath,
  packageFolder: string | null = findPermanentFolder(),
): string {
  const template = readFileSync(join(DEPLOY_FOLDER, 'systemd/vitrine.service'), 'utf8')
  const folder = packageFolder ?? `${SYSTEM_PREFIX}/node_modules/vitrine`
  const program = quoteForUnit(isPermanent(node) ? node : SYSTEM_NODE)
  // Systemd replaces variables in arguments, but not in the path of the program.
  const main = quoteForUnit(join(folder, 'dist/main.js')).replaceAll('$', () => '$$')
  return template.replace(/^ExecStart=.*$/m, () => `ExecStart=${program} ${main} serve`)
}

function quoteForUnit(path: string): string {
  const text = path.replaceAll('%', '%%')
  return /^[\w./@:+$%-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, String.raw`\$&`)}"`
}

function createComposeFiles(): readonly NewFile[] {
  const compose = readFileSync(COMPOSE_FILE, 'utf8')
    // `.env` exists already.
    .replace(/^#   echo .*\n/m, '')
    .replace('./deploy/compose/haproxy.cfg', './haproxy.cfg')
  const balancer = readFileSync(join(DEPLOY_FOLDER, 'compose/haproxy.cfg'), 'utf8')
  const image = readFileSync(join(DEPLOY_FOLDER, 'compose/Dockerfile'), 'utf8')
  return [
    toFile('compose.yaml', compose),
    toFile('haproxy.cfg', balancer),
    toFile('Dockerfile', image.replace(/^(ARG VITRINE_VERSION)=.*$/m, `$1=${VERSION}`)),
  ]
}

/** List the names that exist in a folder. @throws UsageError when one cannot be replaced by a file, or the folder is locked. */
export function listExisting(folder: string, names: readonly string[]): readonly string[] {
  return names.filter((name) => {
    const file = findFile(join(folder, name))
    if (file && !file.isFile() && !file.isSymbolicLink())
      throw new UsageError(`${name} is not a file; nothing was written. Move it away, and start again`)
    return file !== undefined
  })
}

function findFile(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw toUsageError(error)
  }
}

/** Return the text of the present `.env`; an empty text if there is none. @throws as `readSettingsFile` */
export function readPresentEnv(folder: string): string {
  const path = join(folder, '.env')
  return existsSync(path) ? readSettingsFile(path, '.env') : ''
}

/**
 * Write all files, `.env` last. Only names in `replaced` may exist.
 * @throws UsageError when another one exists by now, or a file cannot be written; `.env` is then unchanged.
 */
export function writeFiles(folder: string, files: readonly NewFile[], replaced: readonly string[]): void {
  const parts = files.map((file) => ({ file, part: join(folder, `${file.name}.${process.pid}.part`) }))
  try {
    for (const { file, part } of parts) writeFileSync(part, file.text, { flag: 'wx', mode: file.mode })
    // The first is `.env`.
    for (const { file, part } of parts.toReversed()) {
      const path = join(folder, file.name)
      if (replaced.includes(file.name)) renameSync(part, path)
      // Unlike a rename, a link fails if the file exists.
      else linkSync(part, path)
    }
  } catch (error) {
    throw toUsageError(error)
  } finally {
    for (const { part } of parts) rmSync(part, { force: true })
  }
}

function toUsageError(error: unknown): UsageError {
  const {
    code = 'unknown reason',
    path = 'a file',
    dest = path,
  } = error as NodeJS.ErrnoException & { dest?: string }
  return new UsageError(`cannot write ${dest}: ${code}`, { cause: error })
}
