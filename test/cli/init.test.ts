import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createCommandIo } from '../../src/command.ts'
import {
  FILE_NAMES,
  createFiles,
  createUnit,
  findPermanentFolder,
  writeFiles,
} from '../../src/cli/init/files.ts'
import { type InitOptions, listSystemdSteps, runInit } from '../../src/cli/init.ts'
import { type Environment, parseConfig } from '../../src/config/config.ts'
import { ConfigError, UsageError } from '../../src/errors.ts'
import { PACKAGE_FOLDER, VERSION } from '../../src/lib/files.ts'
import { createFakePrompt } from './fake-prompt.ts'
import { makeFolder, runInProcess } from './run-cli.ts'

/** Needs quotes in .env. */
const KEY = 'k3y#of$the-catalog'

/** `answers`: lines typed. */
type Details = InitOptions &
  Readonly<{ folder?: string; environment?: Environment; isJson?: boolean; answers?: readonly string[] }>

async function init({
  folder = makeFolder(),
  environment = {},
  isJson = false,
  answers = [],
  ...options
}: Details) {
  const out: string[] = []
  let err = ''
  const prompt = createFakePrompt(answers)
  const io = createCommandIo({
    out: (line) => void out.push(line),
    err: (text) => void (err += text),
    isTerminal: false,
    onHangUp: () => undefined,
    signal: new AbortController().signal,
    openPrompt: () => prompt,
  })
  await runInit({ io, isJson, environment, folder }, options)
  return { folder, out, getErr: () => err, prompt, env: readEnv(folder) }
}

/** Read a file of the repository. */
const read = (path: string): string => readFileSync(join(PACKAGE_FOLDER, path), 'utf8')

const readEnv = (folder: string): Record<string, string | undefined> =>
  parseEnv(readFileSync(join(folder, '.env'), 'utf8'))

describe('vitrine init', () => {
  it('only empty answers - .env for sample data with a password, readable by its owner only', async () => {
    const { folder, env, out } = await init({ answers: ['', '', '', ''] })
    expect(readdirSync(folder)).toEqual(['.env'])
    expect(env).toEqual({ VITRINE_ADMIN_PASSWORD: expect.stringMatching(/^[\w-]{32}$/) })
    expect(statSync(join(folder, '.env')).mode & 0o777).toBe(0o600)
    expect(out).toEqual([
      'Wrote .env. Next:',
      '  1. npx vitrine check',
      '  2. npx vitrine serve',
      '  3. Open http://127.0.0.1:3000/studio: user admin, password VITRINE_ADMIN_PASSWORD in .env',
    ])
  })

  it('all answers - the server accepts the settings; no secret is printed', async () => {
    const database = 'postgres://me:p%27w@db.example/vitrine?sslmode=require&pool_size=4'
    const answers = [
      'systemd',
      'https://catalog.example/api',
      KEY,
      'https://widgets.example',
      'postgresql',
      database,
    ]
    const { env, prompt, out, getErr } = await init({ answers })
    expect(env).toMatchObject({
      VITRINE_CATALOG_KEY: KEY,
      VITRINE_DATABASE_URL: database,
      VITRINE_TRUST_PROXY: 'loopback',
    })
    const { config } = parseConfig(env)
    expect(config.catalog).toEqual({ kind: 'remote', url: 'https://catalog.example/api' })
    expect(config.publicUrl).toBe('https://widgets.example')
    expect(prompt.secrets).toHaveLength(2)
    const printed = [...out, getErr()].join('\n')
    for (const secret of [KEY, 'p%27w', env['VITRINE_ADMIN_PASSWORD'] ?? ''])
      expect(printed).not.toContain(secret)
  })

  it('without a catalog, on PostgreSQL - the embedded catalog service uses that database, too', async () => {
    const { env } = await init({ answers: ['env', '', '', 'postgresql', 'postgres://me@db.example/vitrine'] })
    expect(env['VITRINE_CATALOG_DATABASE_URL']).toBe('postgres://me@db.example/vitrine')
    expect(parseConfig(env).config.catalogDatabase.kind).toBe('postgres')
  })

  it('invalid answers - are asked again, with what is expected and without the answer', async () => {
    const answers = [
      'docker',
      'env',
      'catalog',
      'https://catalog.example',
      '',
      "a'b",
      'two words',
      KEY,
      '',
      'sqlite',
    ]
    const { env, getErr, prompt } = await init({ answers })
    expect(env['VITRINE_CATALOG_KEY']).toBe(KEY)
    expect(getErr().split('\n').slice(1)).toEqual([
      '  Not accepted: expected one of env, systemd, compose.',
      '  Not accepted: expected an http:// or https:// address without user, query or fragment.',
      '  Not accepted: required: printable ASCII without spaces.',
      String.raw`  Not accepted: it contains ' or \, which not every program reads alike from .env.`,
      '  Not accepted: expected printable ASCII without spaces.',
      '',
    ])
    expect(prompt.secrets).toHaveLength(4)
  })

  it.each([
    ['mysql://h/d', 'expected postgres://USER:PASSWORD@HOST:PORT/DATABASE'],
    ['postgres://u@h:x/d', 'host or port is invalid'],
    ['sqlite:data/x.db', 'expected postgres://'],
  ])('address %s for PostgreSQL - is asked again', async (address, message) => {
    const { getErr } = await init({ answers: ['env', '', '', 'postgresql', address, 'postgres://u@h/d'] })
    expect(getErr()).toContain(message)
  })

  it('--yes - answers come from the environment', async () => {
    const environment = {
      VITRINE_CATALOG_URL: 'https://catalog.example',
      VITRINE_CATALOG_KEY: KEY,
      VITRINE_PUBLIC_URL: 'http://widgets.example',
      VITRINE_DATABASE_URL: 'postgres://u@h/d',
    }
    const { env } = await init({ yes: true, environment })
    expect(env).toEqual({ ...environment, VITRINE_ADMIN_PASSWORD: expect.any(String) })
  })

  it('--yes - all settings of the environment are copied, but nothing else of it', async () => {
    const environment = {
      VITRINE_CATALOG_URL: 'https://catalog.example',
      VITRINE_CATALOG_KEY_FILE: '/run/secrets/key',
      VITRINE_PUBLIC_URL: 'https://widgets.example/',
      VITRINE_DATABASE_URL: 'sqlite:data/other.db',
      VITRINE_TRUST_PROXY: '3',
      VITRINE_ADMIN_PASSWORD: 'chosen',
      VITRINE_WORKERS: '2',
      VITRINE_FEED_SHOP: 'f$1',
    }
    const { env, out } = await init({
      yes: true,
      environment: { ...environment, PATH: '/bin', VITRINE_SERVICE_HOST: '10.0.0.1', VITRINE_LOCALE: '' },
    })
    expect(env).toEqual(environment)
    expect(out[0]).toBe(`Kept from .env and the environment: ${Object.keys(environment).join(', ')}.`)
    expect(out.at(-1)).toContain('Open https://widgets.example/studio:')
  })

  it('a port in the environment - is that of the studio', async () => {
    const { out } = await init({ yes: true, environment: { VITRINE_PORT: '4000' } })
    expect(out.at(-1)).toContain('Open http://127.0.0.1:4000/studio:')
  })

  it.each([
    [{ VITRINE_WORKRES: '2' }, ConfigError, 'VITRINE_WORKRES: unknown setting'],
    [{ VITRINE_PORT: 'x' }, ConfigError, 'VITRINE_PORT: expected a whole number'],
    [{ VITRINE_CATALOG_KEY: 'k' }, ConfigError, 'require VITRINE_CATALOG_URL'],
    [{ VITRINE_DISCLOSURE: "Don't" }, UsageError, "VITRINE_DISCLOSURE: it contains '"],
  ])('--yes with %j, which is not asked for - error, and no file', async (environment, type, message) => {
    const folder = makeFolder()
    await expect(init({ yes: true, environment, folder })).rejects.toThrow(type)
    await expect(init({ yes: true, environment, folder })).rejects.toThrow(message)
    expect(readdirSync(folder)).toEqual([])
  })

  it.each([
    [{ VITRINE_CATALOG_URL: 'nonsense' }, 'VITRINE_CATALOG_URL: expected an http'],
    [{ VITRINE_CATALOG_URL: 'https://catalog.example' }, 'VITRINE_CATALOG_KEY: required: printable ASCII'],
    [{ VITRINE_DATABASE_URL: 'postgres://h' }, 'VITRINE_DATABASE_URL: the user is missing'],
  ])('--yes with %j - UsageError with the name, and no file', async (environment, message) => {
    const folder = makeFolder()
    await expect(init({ yes: true, environment, folder })).rejects.toThrow(UsageError)
    await expect(init({ yes: true, environment, folder })).rejects.toThrow(message)
    expect(readdirSync(folder)).toEqual([])
  })

  it('--json - the files and the next steps, without questions', async () => {
    const { out } = await init({ yes: true, setup: 'compose', isJson: true })
    expect(JSON.parse(out.join(''))).toEqual({
      setup: 'compose',
      files: ['.env', 'compose.yaml', 'haproxy.cfg', 'Dockerfile'],
      kept: [],
      next: expect.arrayContaining(['docker compose up --detach --wait']),
    })
  })

  it('the command line - has the options, and reports a missing answer with code and exit code', async () => {
    expect((await runInProcess(['init', '--help'])).out).toMatch(/--yes[^]*--setup[^]*vitrine init --yes/)
    expect(await runInProcess(['init'])).toMatchObject({
      code: 64,
      err: expect.stringContaining('(VITRINE_USAGE)'),
    })
    expect(await runInProcess(['init', '--setup', 'docker'])).toMatchObject({ code: 64 })
  })
})

describe('vitrine init, existing files', () => {
  it.each([
    ['--yes', { yes: true }],
    ['the answer no', { answers: ['env', ''] }],
  ])('%s - nothing is changed, and the error names the files', async (_case, details) => {
    const folder = makeFolder()
    writeFileSync(join(folder, '.env'), 'VITRINE_LOCALE=de\n')
    await expect(init({ folder, ...details })).rejects.toThrow(
      '.env already in this folder; nothing was written',
    )
    expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('VITRINE_LOCALE=de\n')
    expect(readdirSync(folder)).toEqual(['.env'])
  })

  it('the answer yes - replaces the files, which then only their owner can read', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, '.env'), 'VITRINE_LOCALE=de\n', { mode: 0o644 })
    const { env, prompt } = await init({ folder, answers: ['env', 'yes', '', '', ''] })
    expect(prompt.questions[1]).toBe(
      '.env exists already. Replace, yes or no (.env keeps its passwords and what is not asked)? [no]: ',
    )
    expect(env).toEqual({ VITRINE_LOCALE: 'de', VITRINE_ADMIN_PASSWORD: expect.any(String) })
    expect(statSync(join(folder, '.env')).mode & 0o777).toBe(0o600)
  })

  it('the answer yes - keeps passwords and every line that no answer changes', async () => {
    const folder = makeFolder()
    const kept = `# Our server
VITRINE_ADMIN_PASSWORD=chosen
POSTGRES_PASSWORD=0123
VITRINE_DISCLOSURE="We earn if you're buying"
COMPOSE_FILE=compose.yaml:key-file.yaml`
    const asked = 'VITRINE_PUBLIC_URL=https://old.example\nexport VITRINE_WORKERS=2\n'
    // Some editors write a byte order mark.
    writeFileSync(join(folder, '.env'), `\ufeff${kept}\n${asked}`)
    const { out } = await init({
      folder,
      environment: { VITRINE_WORKERS: '3' },
      answers: ['compose', 'yes', '', 'http://new.example'],
    })
    expect(readFileSync(join(folder, '.env'), 'utf8')).toBe(
      `${kept}\nVITRINE_PUBLIC_URL=http://new.example\nVITRINE_WORKERS=3\n`,
    )
    expect(out[0]).toMatch(/^Kept from .env and the environment: .*POSTGRES_PASSWORD.*VITRINE_WORKERS\.$/)
    expect(out[0]).not.toContain('VITRINE_PUBLIC_URL')
  })

  it('the answer sqlite - removes an address of PostgreSQL, but keeps one of SQLite', async () => {
    const folder = makeFolder()
    const answers = ['env', 'yes', '', '', 'sqlite']
    writeFileSync(join(folder, '.env'), 'VITRINE_DATABASE_URL=sqlite:data/x.db\n')
    expect((await init({ folder, answers })).env['VITRINE_DATABASE_URL']).toBe('sqlite:data/x.db')
    writeFileSync(join(folder, '.env'), 'VITRINE_DATABASE_URL=postgres://u@h/d\n')
    expect((await init({ folder, answers })).env).not.toHaveProperty('VITRINE_DATABASE_URL')
  })

  it('a folder of that name - UsageError before any question, and .env is unchanged', async () => {
    const folder = makeFolder()
    writeFileSync(join(folder, '.env'), 'VITRINE_LOCALE=de\n')
    mkdirSync(join(folder, 'compose.yaml'))
    await expect(init({ folder, setup: 'compose' })).rejects.toThrow(
      'compose.yaml is not a file; nothing was written',
    )
    expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('VITRINE_LOCALE=de\n')
  })

  it('a file that cannot be written - .env is unchanged, because it is written last', () => {
    const folder = makeFolder()
    writeFileSync(join(folder, '.env'), 'VITRINE_LOCALE=de\n')
    mkdirSync(join(folder, 'compose.yaml'))
    const files = createFiles('compose', '')
    expect(() => writeFiles(folder, files, FILE_NAMES.compose)).toThrow(
      /^cannot write .*compose\.yaml: EISDIR$/,
    )
    expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('VITRINE_LOCALE=de\n')
  })

  it('a broken link of that name - counts as a file', async () => {
    const folder = makeFolder()
    symlinkSync(join(folder, 'missing'), join(folder, '.env'))
    await expect(init({ folder, yes: true })).rejects.toThrow('.env already in this folder')
    expect(existsSync(join(folder, 'missing'))).toBe(false)
  })

  it('a missing folder - UsageError with the reason', async () => {
    const folder = join(makeFolder(), 'missing')
    await expect(init({ folder, yes: true })).rejects.toThrow(/^cannot write .*\.env.*: ENOENT$/)
  })
})

describe('vitrine init, files for other programs', () => {
  it('systemd - the unit of deploy/ with the paths of this installation', async () => {
    const { folder } = await init({ yes: true, setup: 'systemd' })
    expect(readFileSync(join(folder, 'vitrine.service'), 'utf8')).toBe(createUnit())
    const template = read('deploy/systemd/vitrine.service')
    expect(createUnit('/usr/bin/node', '/opt/vitrine')).toBe(template)
    expect(createUnit('/root/.nvm/node', null)).toContain(
      '\nExecStart=/usr/bin/node /opt/vitrine/node_modules/vitrine/dist/main.js serve\n',
    )
  })

  it('systemd, paths with characters that systemd or a replacement would change - are quoted', () =>
    expect(createUnit('/opt/my %b/node', '/srv/a "$&"$$')).toContain(
      String.raw`
ExecStart="/opt/my %%b/node" "/srv/a \"$$&\"$$$$/dist/main.js" serve
`,
    ))

  it('systemd, Node in a home folder - the first step installs the one of the unit', () => {
    expect(listSystemdSteps('/root/.nvm/node')[0]).toBe(
      'Install Node as /usr/bin/node: the service cannot read /root/.nvm/node',
    )
    expect(listSystemdSteps('/usr/local/bin/node')[0]).not.toContain('Install Node')
  })

  it.each([
    ['/usr/lib/node_modules/vitrine/', true],
    ['/root/.npm/_npx/0a1b/node_modules/vitrine/', false],
    ['/var/cache/npm/_npx/0a1b/node_modules/vitrine/', false],
    ['/home/me/vitrine/', false],
    ['/tmp/vitrine/', false],
  ])('package in %s - systemd can run it: %s', (folder, isPermanent) =>
    expect(findPermanentFolder(folder) !== null).toBe(isPermanent),
  )

  it('compose - the files of the repository, beside each other, and a password for the database', async () => {
    const { folder, env } = await init({
      setup: 'compose',
      answers: ['https://catalog.example', KEY, 'https://widgets.example'],
    })
    const compose = readFileSync(join(folder, 'compose.yaml'), 'utf8')
    const [services = ''] = compose.split('\nname: vitrine\n').slice(1)
    expect(services).toBe(
      read('compose.yaml')
        .split('\nname: vitrine\n')[1]
        ?.replace('./deploy/compose/haproxy.cfg', './haproxy.cfg'),
    )
    // Its steps must not replace .env.
    expect(compose).not.toContain('> .env')
    expect(readFileSync(join(folder, 'haproxy.cfg'), 'utf8')).toBe(read('deploy/compose/haproxy.cfg'))
    expect(readFileSync(join(folder, 'Dockerfile'), 'utf8')).toContain(`\nARG VITRINE_VERSION=${VERSION}\n`)
    // The balancer and a proxy for TLS.
    expect(env).toMatchObject({
      VITRINE_TRUST_PROXY: '2',
      POSTGRES_PASSWORD: expect.stringMatching(/^[0-9a-f]{48}$/),
    })
  })
})
