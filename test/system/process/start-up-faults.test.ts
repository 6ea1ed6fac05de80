import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { openSqlite } from '../../../src/database/sqlite.ts'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { addCleanup } from '../../helpers/cleanup.ts'
import { makeFolder, makeSettings } from '../../cli/run-cli.ts'
import { readUnit } from '../deploy/systemd-unit.ts'

/** A server that starts in spite of the fault is killed, and then has no exit code. */
const KILL_TIMEOUT_MS = 60_000

/** How to cause a fault. */
type Fault = Readonly<{
  settings?: Environment
  args?: readonly string[]
  /** A program that runs the server, with its arguments. */
  wrapper?: readonly string[]
  /** What the message says. */
  message: RegExp
}>

const NO_CATALOG = { VITRINE_CATALOG_URL: 'http://127.0.0.1:9' }
const IS_ROOT = process.getuid?.() === 0
/** Without the capability for low ports. In a new network, they need it. */
const WITHOUT_LOW_PORTS = IS_ROOT
  ? ['unshare', '--net', 'setpriv', '--bounding-set', '-net_bind_service']
  : []

/** Only root can remove the address of the loopback interface, in a new network. */
const WITHOUT_LOOPBACK = IS_ROOT
  ? [
      [
        'unshare',
        '--net',
        'sh',
        '-c',
        'ip link set lo up; ip address delete 127.0.0.1/8 dev lo; exec "$@"',
        'sh',
      ],
    ]
  : []

/** The faults of the table in docs/operate/errors.md, by the text of their row; each can have several forms. */
const FAULTS: Readonly<Record<string, (folder: string) => Promise<readonly Fault[]> | readonly Fault[]>> = {
  'The port is in use': async () => {
    const other = createServer().listen(0, '127.0.0.1')
    addCleanup(() => void other.close())
    await once(other, 'listening')
    const port = String((other.address() as AddressInfo).port)
    const fault = {
      settings: { VITRINE_PORT: port },
      message: new RegExp(`cannot listen on 127.0.0.1, port ${port}: the port is in use. Stop the other`),
    }
    return [
      fault,
      { ...fault, args: ['catalog', 'serve'] },
      { ...fault, settings: { ...fault.settings, VITRINE_WORKERS: '2' } },
    ]
  },
  'This machine does not have the address of `VITRINE_HOST` yet': () => {
    const settings = { VITRINE_HOST: '192.0.2.1' }
    const message = /cannot listen on 192\.0\.2\.1, port 0: this machine does not have the address now/
    return [
      { settings, message },
      { settings, message, args: ['catalog', 'serve'] },
      { settings: { ...settings, VITRINE_WORKERS: '2' }, message },
    ]
  },
  'The name in `VITRINE_HOST` has no address yet': () => [
    { settings: { VITRINE_HOST: 'nowhere.invalid' }, message: /nowhere\.invalid.*: the name has no address/ },
  ],
  'A key file, JSON file or linked `.env` is missing, such as a late mount': (folder) => {
    const missing = join(folder, 'missing')
    return [
      ...[{ ...NO_CATALOG, VITRINE_CATALOG_KEY_FILE: missing }, { VITRINE_SHOPS_FILE: missing }].map(
        (settings) => ({ settings, message: /_FILE: the file does not exist\. Create it, mount/ }),
      ),
      {
        wrapper: inFolder(folder, () => symlinkSync(missing, join(folder, '.env'))),
        message: /\.env .*not exist/,
      },
    ]
  },
  'The embedded catalog cannot listen on 127.0.0.1, or open its database': (folder) => {
    symlinkSync(join(folder, 'unmounted'), join(folder, 'data'))
    return [
      ...WITHOUT_LOOPBACK.map((wrapper) => ({
        wrapper,
        settings: { VITRINE_HOST: '0.0.0.0' },
        message:
          /the embedded catalog exited while starting: cannot listen on 127\.0\.0\.1, port 0: .*loopback/,
      })),
      {
        settings: { VITRINE_CATALOG_DATABASE_URL: `sqlite:${folder}/data/catalog.db` },
        message: /"[^"]*\/data" is a link to "[^"]*\/unmounted", which does not exist\. Mount the volume/,
      },
    ]
  },
  'A newer version created the database': (folder) => {
    const database = openSqlite({ path: join(folder, 'catalog.db'), role: 'writer' })
    database.prepare('create table kysely_migration (name text primary key, timestamp text)').run([])
    database.prepare("insert into kysely_migration values ('999_later', '')").run([])
    database.close()
    return [{ message: /A newer version of Vitrine has migrated the database/ }]
  },
  'A build before 1.0.0 created the database': (folder) => {
    const database = openSqlite({ path: join(folder, 'catalog.db'), role: 'writer' })
    database.prepare('create table kysely_migration (name text primary key, timestamp text)').run([])
    database.prepare("insert into kysely_migration values ('0001-accounts', '')").run([])
    database.close()
    return [
      {
        message: /before 1\.0\.0 created the database "[^"]*catalog\.db", .*Move the file away: /,
      },
    ]
  },
  'This user may not listen on the port (below 1024)': () => [
    {
      settings: { VITRINE_PORT: '1', VITRINE_HOST: '0.0.0.0' },
      wrapper: WITHOUT_LOW_PORTS,
      message: /VITRINE_PORT: this user may not listen on port 1; choose a port from 1024 on/,
    },
  ],
  '`VITRINE_HOST` is `[::]`, `*`, `HOST:PORT` or a URL': () =>
    ['[::]', '*', '0.0.0.0:3000', 'http://0.0.0.0'].map((host) => ({
      settings: { VITRINE_HOST: host },
      message: /VITRINE_HOST: write .*; expected an IP address or host name/,
    })),
  'A setting is unknown, misspelled, malformed or in quotes': (folder) => [
    { settings: { VITRINE_PROT: '80' }, message: /VITRINE_PROT: unknown setting/ },
    {
      settings: { vitrine_locale: 'de' },
      message: /VITRINE_LOCALE: written as "vitrine_locale", which would be ignored/,
    },
    { settings: { VITRINE_PORT: 'x' }, message: /VITRINE_PORT: expected a whole number/ },
    { settings: { VITRINE_ADMIN_PASSWORD: '"p4ss"' }, message: /VITRINE_ADMIN_PASSWORD: .*in quotes/ },
    {
      wrapper: inFolder(folder, () => writeFileSync(join(folder, '.env'), 'VITRINE_LOCALE: de')),
      message: /\.env in the current folder, line 1: write the setting as/,
    },
  ],
  '`.env`, a key file or JSON file is not UTF-8, or this user may not read it': (folder) => {
    const file = join(folder, 'utf16')
    writeFileSync(file, '\ufeffk1', 'utf16le')
    return [
      {
        wrapper: inFolder(folder, () => symlinkSync(file, join(folder, '.env'))),
        message: /\.env in the current folder: the file is not UTF-8 text/,
      },
      {
        settings: { ...NO_CATALOG, VITRINE_CATALOG_KEY_FILE: file },
        message: /VITRINE_CATALOG_KEY_FILE: the file is not UTF-8 text/,
      },
      {
        settings: { VITRINE_SUB_IDS_FILE: file },
        message: /VITRINE_SUB_IDS_FILE: the file is not UTF-8 text/,
      },
      { settings: { VITRINE_SHOPS_FILE: folder }, message: /VITRINE_SHOPS_FILE: .*it is a folder/ },
    ]
  },
  'The limit of open files is below 128, or Node may not compile templates': () => [
    {
      wrapper: ['sh', '-c', 'ulimit -n 64; exec "$@"', 'sh'],
      message: /limit of open files: 64 are too few/,
    },
    {
      settings: { NODE_OPTIONS: '--disallow-code-generation-from-strings' },
      message: /NODE_OPTIONS: remove --disallow-code-generation-from-strings/,
    },
  ],
  'The command line is invalid': () => [{ args: ['serve', '--port=80'], message: /unknown option/ }],
}

/** Run the server in a folder that `prepare` writes to. */
function inFolder(folder: string, prepare: () => void): readonly string[] {
  prepare()
  return ['env', '-C', folder]
}

type Ended = Readonly<{ code: number | null; out: string; err: string }>

function start(folder: string, { settings = {}, args = ['serve'], wrapper = [] }: Fault): Promise<Ended> {
  const [program = '', ...programArgs] = [
    ...wrapper,
    process.execPath,
    join(PACKAGE_FOLDER, 'dist/main.js'),
    ...args,
  ]
  const environment = makeSettings(folder, { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', ...settings })
  const env = Object.fromEntries(Object.entries(environment).map(([name, text]) => [name, String(text)]))
  const options = { env, timeout: KILL_TIMEOUT_MS, killSignal: 'SIGKILL' } as const
  return new Promise((resolve) => {
    const child = execFile(program, programArgs, options, (_error, out, err) =>
      resolve({ code: child.exitCode, out, err }),
    )
  })
}

/** Read the rows of the table: fault, exit code and error code. */
function readTable(): readonly (readonly [fault: string, exitCode: string, code: string])[] {
  const text = readFileSync(join(PACKAGE_FOLDER, 'docs/operate/errors.md'), 'utf8')
  return [...text.matchAll(/^\| (\S.*\S) +\| (\d+) +\| `(VITRINE_\w+)` +\|$/gm)].map(
    ([, fault = '', exitCode = '', code = '']) => [fault.trim(), exitCode, code],
  )
}

describe('faults at the start, as documented', () => {
  test('table - has the faults of this test', () => {
    expect(readTable().map(([fault]) => fault)).toEqual(Object.keys(FAULTS))
  })

  test.each(readTable())('%s - exit code %s, %s and a message', async (name, exitCode, code) => {
    const folder = makeFolder()
    const check = async (fault: Fault): Promise<void> => {
      const ended = await start(folder, fault)
      expect(ended.err).toMatch(fault.message)
      expect(ended.err).toContain(`(${code})`)
      expect(ended).toMatchObject({
        code: Number(exitCode),
        err: expect.not.stringContaining('this is a bug'),
      })
    }
    await Promise.all(((await FAULTS[name]?.(folder)) ?? []).map(check))
  })

  test('port that this user may not listen on - check reports it and goes on', async () => {
    const settings = { ...NO_CATALOG, VITRINE_CATALOG_KEY: 'k', VITRINE_PORT: '1', VITRINE_HOST: '0.0.0.0' }
    const args = ['check', '--json']
    const { code, out } = await start(makeFolder(), {
      settings,
      args,
      wrapper: WITHOUT_LOW_PORTS,
      message: /^/,
    })
    expect(code).toBe(1)
    const findings = JSON.parse(out) as { subject: string; isGood: boolean; message: string }[]
    expect(findings.find(({ subject }) => subject === 'listener')).toMatchObject({
      isGood: false,
      message: expect.stringContaining('this user may not listen on port 1'),
    })
    expect(findings.map(({ subject }) => subject)).toContain('stored copy')
  })

  test('codes other than 1 - are those after which systemd does not restart', () => {
    const codes = new Set(readTable().map(([, exitCode]) => exitCode))
    codes.delete('1')
    expect(readUnit('RestartPreventExitStatus')).toEqual([[...codes].toSorted().join(' ')])
    expect(readUnit('Restart')).toEqual(['on-failure'])
  })
})
