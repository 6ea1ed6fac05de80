import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv, promisify } from 'node:util'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { parseConfig } from '../../../src/config/config.ts'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { makeFolder } from '../../cli/run-cli.ts'
import { describeWithProgram, findProgram } from '../includes/program.ts'
import { UNIT_FILE, expandFilter, readUnit } from './systemd-unit.ts'

const execute = promisify(execFile)

/** In tenths; a service without any sandboxing has 10.0. systemd 252 computes 1.2; newer versions may check more. */
const MAX_EXPOSURE_TENTHS = 15

/** Run the server as the user `nobody` if the tests run as root: for root, SQLite also changes the owners of files. */
const USER_ARGS = process.getuid?.() === 0 ? ['--reuid', '65534', '--regid', '65534', '--clear-groups'] : []

const SERVER = [process.execPath, join(PACKAGE_FOLDER, 'dist/main.js'), 'serve', '--json']

describe('the systemd unit', () => {
  it('stop timeout and exit codes without a restart - match the server', () => {
    expect(Number(readUnit('TimeoutStopSec')[0])).toBeGreaterThan(10)
    expect(readUnit('RestartPreventExitStatus')).toEqual(['64 78'])
    expect(readUnit('MemoryDenyWriteExecute')).toEqual([])
  })

  it('cache of compiled code - is in the folder that systemd creates for the service', () => {
    const folder = `/var/cache/${readUnit('CacheDirectory')[0]}`
    expect(readUnit('Environment')).toContain(`NODE_COMPILE_CACHE=${folder}`)
  })

  it('the example settings - all lines enabled - are accepted by the server', () => {
    const text = readFileSync(join(PACKAGE_FOLDER, 'deploy/systemd/vitrine.env.example'), 'utf8')
    expect(parseEnv(text)).toEqual({})
    const environment = parseEnv(text.replaceAll(/^#(?=VITRINE_)/gm, ''))
    expect(Object.keys(environment).length).toBeGreaterThan(4)
    expect(parseConfig(environment).config.catalog).toMatchObject({ kind: 'remote' })
  })
})

describeWithProgram('systemd-analyze', 'the systemd unit, checked by systemd-analyze', () => {
  it('every setting - is known to systemd', async () => {
    const folder = makeFolder()
    const unit = join(folder, 'vitrine.service')
    // Use the path of Node on this machine, because `verify` checks that the program exists.
    const text = readFileSync(join(PACKAGE_FOLDER, UNIT_FILE), 'utf8')
    expect(text).toContain('ExecStart=/usr/bin/node ')
    writeFileSync(unit, text.replace('/usr/bin/node ', `${process.execPath} `))
    const { stdout, stderr } = await execute('systemd-analyze', ['verify', '--man=no', unit])
    expect(stdout + stderr).not.toContain('vitrine')

    writeFileSync(unit, `${text}\n[Service]\nProtectEverything=yes\n`)
    const wrong = await execute('systemd-analyze', ['verify', '--man=no', unit]).catch(
      (error: unknown) => error,
    )
    expect((wrong as { stderr: string }).stderr).toContain('ProtectEverything')
  })

  it('the sandbox - rated by systemd - has a low exposure', async () => {
    const unit = join(makeFolder(), 'vitrine.service')
    copyFileSync(join(PACKAGE_FOLDER, UNIT_FILE), unit)
    const args = ['security', '--offline=true', `--threshold=${MAX_EXPOSURE_TENTHS}`, '--no-pager', unit]
    await expect(execute('systemd-analyze', args)).resolves.toBeDefined()
  })
})

describeWithProgram('strace', 'the server and the system call filter of the unit', () => {
  it('two workers, a walk, a box and a stop - use only allowed system calls', async () => {
    const folder = makeFolder()
    const [list, data] = [join(folder, 'calls'), join(folder, 'data')]
    mkdirSync(data)
    writeFileSync(list, '')
    for (const path of [folder, data, list]) chmodSync(path, 0o777)
    const settings = {
      VITRINE_PORT: '0',
      VITRINE_WORKERS: '2',
      VITRINE_DATABASE_URL: `sqlite:${join(data, 'copy.db')}`,
      VITRINE_CATALOG_DATABASE_URL: `sqlite:${join(data, 'catalog.db')}`,
    }
    const child = spawn(
      findProgram('setpriv') ?? '',
      [...USER_ARGS, '--no-new-privs', 'strace', '-f', '-qq', '-c', '-o', list, ...SERVER],
      {
        detached: true,
        env: { PATH: '/usr/bin:/bin', ...settings },
      },
    )
    const ended = once(child, 'exit')
    onTestFinished(() => void (child.exitCode === null && process.kill(-(child.pid ?? 0), 'SIGKILL')))
    let output = ''
    child.stdout.on('data', (chunk) => (output += String(chunk)))
    // Match the closing quote, because the line may arrive in parts.
    const findBox = (): string => /http[^"\s]+where-to-buy[^"\s]+(?=")/.exec(output)?.[0] ?? ''
    await vi.waitFor(() => expect(findBox()).not.toBe(''))
    const box = findBox()
    expect((await fetch(box)).headers.get('vitrine-state')).toBe('shown')
    // strace forwards the signal to the server.
    process.kill(-(child.pid ?? 0), 'SIGTERM')
    expect(await ended).toEqual([0, null])

    const counted = readFileSync(list, 'utf8').matchAll(/^ *\d+\.\d+ .* (\w+)$/gm)
    const calls = [...counted].flatMap(([, name = '']) => (name === 'total' ? [] : name))
    expect(calls.length).toBeGreaterThan(40)
    const { stdout } = await execute('systemd-analyze', ['syscall-filter', '--no-pager'])
    const allowed = expandFilter(readUnit('SystemCallFilter'), stdout)
    expect(calls.filter((name) => !allowed.has(name))).toEqual([])
    expect(allowed.has('mount')).toBe(false)
  })
})
