import { type ChildProcess, type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { getShared } from '../shared.ts'
import { type DatabaseReference, copyDatabase, dropDatabase, waitForLine } from './database.ts'
import { WORDPRESS_FOLDER, assertPrograms, findProgram } from './programs.ts'

const execute = promisify(execFile)

const SITE_FILES = fileURLToPath(new URL('site-files', import.meta.url))

/** A WordPress site with its own files and web server, and its own database on the shared server. */
export type Site = Readonly<{
  origin: string
  /** Run PHP code inside WordPress and return its result. */
  run(code: string): Promise<unknown>
  /** Advance the plugin's clock. */
  advanceClock(seconds: number): Promise<void>
  /** Return the warnings and errors of PHP since the start. */
  readPhpErrors(): Promise<string[]>
  /** Return the path of a file or folder of the site. */
  toPath(name: string): string
  stop(): Promise<void>
}>

export type SiteOptions = Readonly<{ plugin?: boolean; objectCache?: boolean }>

/** Start a WordPress with a user of each role (password: the role) and, by default, the plugin. */
export async function startSite(options: SiteOptions = {}): Promise<Site> {
  assertPrograms()
  const template = await getShared('wordpress')
  const database = await copyDatabase(template, `site_${randomBytes(6).toString('hex')}`)
  const closers = [() => dropDatabase(database)]
  const stop = async (): Promise<void> => {
    for (const close of closers.toReversed()) await close()
  }
  try {
    const site = await openSite(database, options)
    closers.push(site.stop)
    if (options.plugin !== false) await site.run("activate_plugin( 'vitrine/vitrine.php' ); return 1;")
    return { ...site, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Install WordPress in a database, without the plugin. */
export async function installSite(database: DatabaseReference): Promise<void> {
  const site = await openSite(database, { isNew: true })
  const users = ROLES.map(
    (role) => `wp_insert_user( array( 'user_login' => '${role}',
    'user_pass' => '${role}', 'role' => '${role}', 'user_email' => '${role}@shelf.example' ) );`,
  )
  try {
    await site.run(
      `update_option( 'permalink_structure', '' ); switch_theme( 'classic' ); ${users.join('\n')} return 1;`,
    )
  } finally {
    await site.stop()
  }
}

const ROLES = ['editor', 'author', 'subscriber']

/** Create files and start a web server. `isNew`: the database is empty, so install WordPress in it. */
async function openSite(
  database: DatabaseReference,
  options: SiteOptions & Readonly<{ isNew?: true }>,
): Promise<Site> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-wp-'))
  const closers: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })]
  const stop = async (): Promise<void> => {
    for (const close of closers.toReversed()) await close()
  }
  try {
    await writeSiteFiles(folder, options)
    const token = randomUUID()
    const environment = {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      VITRINE_TEST_SITE: folder,
      VITRINE_TEST_WORDPRESS: WORDPRESS_FOLDER,
      VITRINE_TEST_SOCKET: database.socket,
      VITRINE_TEST_DATABASE: database.name,
      VITRINE_TEST_TOKEN: token,
      PHP_CLI_SERVER_WORKERS: '4',
    }
    const server = startWebServer(join(folder, 'www'), environment)
    closers.push(() => stopGroup(server))
    const origin = /http:\/\/[\d.:]+/.exec(await waitForLine(server.stderr, 'started'))?.[0] ?? ''
    await writeFile(join(folder, 'origin'), origin)
    if (options.isNew === true)
      await execute(findProgram('php'), [...PHP_FLAGS, join(SITE_FILES, 'install.php')], { env: environment })
    return createSite({ folder, origin, token, stop })
  } catch (error) {
    await stop()
    throw error
  }
}

async function writeSiteFiles(folder: string, { objectCache = false }: SiteOptions): Promise<void> {
  const www = join(folder, 'www')
  const content = join(www, 'wp-content')
  await mkdir(join(content, 'plugins'), { recursive: true })
  await mkdir(join(folder, 'cache'))
  const linked = ['index.php', 'wp-admin', 'wp-includes', 'wp-load.php', 'wp-login.php', 'wp-settings.php']
  for (const name of [...linked, 'wp-blog-header.php'])
    await symlink(join(WORDPRESS_FOLDER, name), join(www, name))
  await cp(join(SITE_FILES, 'wp-config.php'), join(www, 'wp-config.php'))
  await cp(join(SITE_FILES, 'mu-plugins'), join(content, 'mu-plugins'), { recursive: true })
  for (const theme of ['classic', 'blocks'])
    await cp(join(SITE_FILES, theme), join(content, 'themes', theme), { recursive: true })
  if (objectCache) await cp(join(SITE_FILES, 'object-cache.php'), join(content, 'object-cache.php'))
  await symlink(join(PACKAGE_FOLDER, 'integrations/wordpress/vitrine'), join(content, 'plugins/vitrine'))
}

/** `opcache.revalidate_freq=0` rereads files that a test has just changed. */
const PHP_FLAGS = [
  `auto_prepend_file=${join(SITE_FILES, 'prepend.php')}`,
  'display_errors=1',
  'opcache.revalidate_freq=0',
].flatMap((flag) => ['-d', flag])

function startWebServer(root: string, env: NodeJS.ProcessEnv): ChildProcessByStdio<null, null, Readable> {
  return spawn(findProgram('php'), [...PHP_FLAGS, '-S', '127.0.0.1:0', '-t', root], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env,
    // A separate process group, so that its workers stop with it.
    detached: true,
  })
}

async function stopGroup(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || server.exitCode !== null) return
  const ended = once(server, 'exit')
  process.kill(-server.pid, 'SIGKILL')
  await ended
}

type Parts = Readonly<{ folder: string; origin: string; token: string; stop(): Promise<void> }>

function createSite(parts: Parts): Site {
  const { folder, origin, stop } = parts
  const toPath = (name: string): string => join(folder, name)
  let passed = 0
  return {
    origin,
    toPath,
    stop,
    run: (code) => runPhp(code, parts),
    async advanceClock(seconds) {
      passed += seconds
      await writeFile(toPath('clock'), String(passed))
    },
    async readPhpErrors() {
      const log = await readFile(toPath('debug.log'), 'utf8').catch(() => '')
      // The error handler of prepend.php is not called for deprecations while PHP compiles a file.
      return log.split('\n').filter((line) => line.includes('PHP ') && !isOfWordPress(line))
    },
  }
}

function isOfWordPress(line: string): boolean {
  return line.includes('PHP Deprecated') && line.includes(` in ${WORDPRESS_FOLDER}/wp-`)
}

async function runPhp(code: string, { origin, token }: Parts): Promise<unknown> {
  const response = await fetch(`${origin}/`, { method: 'POST', headers: { 'x-run': token }, body: code })
  const text = await response.text()
  try {
    return JSON.parse(text.slice(text.lastIndexOf('\n') + 1)) as unknown
  } catch {
    throw new Error(`unexpected output of PHP:\n${text}`)
  }
}
