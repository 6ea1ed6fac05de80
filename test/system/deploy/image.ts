import { execFile } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, join, posix, relative } from 'node:path'
import { promisify } from 'node:util'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { findProgram } from '../includes/program.ts'
import { isIncluded } from './docker-ignore.ts'
import { type Stage, type Step, readStages } from './dockerfile.ts'
import { findNode24 } from './node-24.ts'

const execute = promisify(execFile)

/** An image built from the Dockerfile, with a substitute for its base image. */
export type Image = Readonly<{
  /** Contains the folders of the last stage, `app` and `data`. */
  root: string
  /** Arguments of bwrap for the base of every stage: the programs of this machine, Node and npm. */
  base: readonly string[]
  remove(): void
}>

/** The folders of an image that do not come from its base. */
const FOLDERS = ['app', 'data'] as const

/**
 * Build the Dockerfile without Docker: a stage is a pair of folders, and its commands run in a sandbox without the repository.
 * The base image consists of `/usr` and `/etc` of this machine, and Node 24.
 */
export async function buildImage(): Promise<Image> {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-image-'))
  // The user of the image must be able to read it.
  chmodSync(folder, 0o755)
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    const base = await createBaseArgs(folder)
    const stages: Stages = new Map()
    const builds = readStages().map((stage, index) => {
      const root = join(folder, `stage-${index}`)
      for (const name of FOLDERS) mkdirSync(join(root, name), { recursive: true })
      const built = buildStage(stage, { root, stages: new Map(stages), base })
      stages.set(stage.name ?? '', { root, built })
      return built
    })
    // Wait for all stages, because none may still write when the folder is removed.
    await Promise.allSettled(builds)
    await Promise.all(builds)
    return { root: stages.get('')?.root ?? '', base, remove }
  } catch (error) {
    remove()
    throw error
  }
}

/** Return the arguments of bwrap that mount a folder of an image. */
export function bindFolder(root: string, name: (typeof FOLDERS)[number], isWritable: boolean): string[] {
  return [isWritable ? '--bind' : '--ro-bind', join(root, name), `/${name}`]
}

async function createBaseArgs(folder: string): Promise<string[]> {
  const node = await findNode24()
  const npm = dirname(dirname(realpathSync(findProgram('npm') ?? '')))
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  symlinkSync('/opt/node/bin/node', join(bin, 'node'))
  symlinkSync('/opt/npm/bin/npm-cli.js', join(bin, 'npm'))
  const links = ['bin', 'sbin', 'lib', 'lib64'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`])
  const mounts = ['--ro-bind', '/usr', '/usr', ...links, '--ro-bind', '/etc', '/etc']
  const programs = ['--ro-bind', dirname(dirname(node)), '/opt/node', '--ro-bind', npm, '/opt/npm']
  return [...mounts, ...programs, '--ro-bind', bin, '/usr/local/bin', '--proc', '/proc', '--dev', '/dev']
}

/** Stages by name. As in BuildKit, they are built concurrently; a COPY from another stage waits for it. */
type Stages = Map<string, Readonly<{ root: string; built: Promise<void> }>>

/** Where a stage is built. `stages`: the stages before it. */
type BuildTarget = Readonly<{ root: string; stages: Readonly<Stages>; base: readonly string[] }>

async function buildStage(stage: Stage, target: BuildTarget): Promise<void> {
  let folder = '/'
  for (const step of stage.steps) {
    if (step.kind === 'workdir') folder = posix.resolve('/', folder, step.folder)
    /* oxlint-disable no-await-in-loop -- one after the other */
    if (step.kind === 'copy') await copySources(step, folder, target)
    if (step.kind === 'run') await runCommand(step.command, folder, target)
    /* oxlint-enable no-await-in-loop */
  }
}

/** Copy files like COPY: the content of folders, and from the repository only what `.dockerignore` includes. */
async function copySources(
  step: Extract<Step, { kind: 'copy' }>,
  folder: string,
  { root, stages }: BuildTarget,
): Promise<void> {
  const stage = stages.get(step.from ?? '')
  await stage?.built
  const from = step.from === null ? PACKAGE_FOLDER : stage?.root
  if (from === undefined) throw new Error(`no earlier stage has the name ${step.from}`)
  const isVisible = (path: string): boolean =>
    step.from !== null || isIncluded(relative(PACKAGE_FOLDER, path))
  for (const source of step.sources) {
    const path = join(from, source)
    const target = posix.resolve(folder, step.target, isFileIntoFolder(path, step) ? basename(source) : '.')
    if (!isVisible(path)) throw new Error(`.dockerignore excludes ${source}`)
    cpSync(path, join(root, target), { recursive: true, filter: isVisible, verbatimSymlinks: true })
    if (step.owner !== null) setOwner(path, join(root, target), step.owner)
  }
}

function isFileIntoFolder(path: string, { target }: Readonly<{ target: string }>): boolean {
  return target.endsWith('/') && !statSync(path).isDirectory()
}

/** Set the owner, and like COPY the mode, of the copied folders. They are all that the Dockerfile copies with another owner. */
function setOwner(source: string, target: string, owner: string): void {
  const [user = NaN, group = NaN] = owner.split(':').map(Number)
  for (const name of readdirSync(source)) {
    chmodSync(join(target, name), statSync(join(source, name)).mode)
    chownSync(join(target, name), user, group)
  }
}

/** The name of a processor in `TARGETARCH`. */
function toDockerArch(arch: string): string {
  return arch === 'x64' ? 'amd64' : arch
}

/**
 * The full installation is 280 MB, and this repository already has it from the same lock file. So npm only checks
 * it with `--dry-run`, and the stage gets a link to the repository's `node_modules`.
 */
const FULL_INSTALL = /^npm ci(?! .*--omit=dev)/

async function runCommand(command: string, folder: string, target: BuildTarget): Promise<void> {
  const packages = join(target.root, folder, 'node_modules')
  const canReuseModules = FULL_INSTALL.test(command)
  await runSandboxed(canReuseModules ? `${command} --dry-run` : command, folder, target)
  if (canReuseModules) symlinkSync(join(PACKAGE_FOLDER, 'node_modules'), packages)
}

/** Run a command as root, as a build does, with the network and with npm's cache of this machine. */
async function runSandboxed(command: string, folder: string, { root, base }: BuildTarget): Promise<void> {
  const { cache, registry } = await (npmConfig ??= readNpmConfig())
  mkdirSync(cache, { recursive: true })
  const homeArgs = ['--bind', cache, '/root/.npm', '--ro-bind-try', join(homedir(), '.npmrc'), '/root/.npmrc']
  const moduleFolder = join(PACKAGE_FOLDER, 'node_modules')
  const folderArgs = [
    '--tmpfs',
    '/tmp',
    ...FOLDERS.flatMap((name) => bindFolder(root, name, true)),
    '--ro-bind',
    moduleFolder,
    moduleFolder,
  ]
  const settings = { npm_config_registry: registry, npm_config_prefer_offline: 'true' }
  const bwrapArgs = [...base, ...homeArgs, ...folderArgs, '--chdir', folder, 'sh', '-c', command]
  const env = {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: '/root',
    TARGETARCH: toDockerArch(process.arch),
    ...readProxySettings(),
    ...settings,
  }
  await execute(findProgram('bwrap') ?? 'bwrap', bwrapArgs, { env, maxBuffer: 2 ** 24 })
}

/** Return the settings with which this machine reaches the registry: proxies and certificates. */
function readProxySettings(): Record<string, string> {
  // oxlint-disable-next-line node/no-process-env -- the machine's, not settings
  const entries = Object.entries(process.env).filter(([name]) =>
    /^(?:https?_proxy|no_proxy|node_extra_ca_certs)$/i.test(name),
  )
  return Object.fromEntries(entries) as Record<string, string>
}

/** npm's configuration on this machine, read once. */
type NpmConfig = Readonly<{ cache: string; registry: string }>

let npmConfig: Promise<NpmConfig> | undefined

async function readNpmConfig(): Promise<NpmConfig> {
  const args = ['config', 'list', '--json', '--long']
  const { stdout } = await execute('npm', args, { cwd: PACKAGE_FOLDER, maxBuffer: 2 ** 24 })
  const { cache, registry } = JSON.parse(stdout) as NpmConfig
  return { cache, registry }
}
