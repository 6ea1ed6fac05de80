import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { findProgram } from './programs.ts'

const run = promisify(execFile)

/** A MariaDB server that listens only on a socket. */
export type Database = Readonly<{ socket: string; stop(): Promise<void> }>

export type DatabaseReference = Readonly<{ socket: string; name: string }>

/** Speed up the server: the tests need no durability. */
const FAST_FLAGS = [
  '--innodb-flush-log-at-trx-commit=0',
  '--innodb-buffer-pool-size=24M',
  '--innodb-log-file-size=8M',
  '--skip-innodb-doublewrite',
]

/** Start a new MariaDB in a folder. */
export async function startDatabase(folder: string): Promise<Database> {
  const data = join(folder, 'data')
  const socket = join(folder, 'db.sock')
  await mkdir(folder, { recursive: true })
  await run(findProgram('mariadb-install-db'), [
    '--no-defaults',
    `--datadir=${data}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    '--user=root',
    ...FAST_FLAGS,
  ])
  const child = spawn(
    findProgram('mariadbd'),
    [
      '--no-defaults',
      `--datadir=${data}`,
      `--socket=${socket}`,
      `--pid-file=${join(folder, 'db.pid')}`,
      '--skip-networking',
      '--user=root',
      ...FAST_FLAGS,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } },
  )
  const ended = once(child, 'exit')
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  try {
    await waitForLine(child.stderr, 'ready for connections')
    return { socket, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Execute statements and return the lines of their output. */
async function execute(socket: string, statements: string): Promise<readonly string[]> {
  const flags = ['--no-defaults', `--socket=${socket}`, '--user=root', '--batch', '--skip-column-names']
  const { stdout } = await run(findProgram('mariadb'), [...flags, `--execute=${statements}`])
  return stdout.split('\n').filter((line) => line !== '')
}

export async function createDatabase({ socket, name }: DatabaseReference): Promise<void> {
  await execute(socket, `CREATE DATABASE ${name} CHARACTER SET utf8mb4`)
}

export async function copyDatabase(template: DatabaseReference, name: string): Promise<DatabaseReference> {
  const tables = await execute(template.socket, `SHOW TABLES FROM ${template.name}`)
  await createDatabase({ ...template, name })
  const copies = tables.flatMap((table) => [
    `CREATE TABLE ${name}.${table} LIKE ${template.name}.${table}`,
    `INSERT INTO ${name}.${table} SELECT * FROM ${template.name}.${table}`,
  ])
  await execute(template.socket, copies.join('; '))
  return { ...template, name }
}

export async function dropDatabase({ socket, name }: DatabaseReference): Promise<void> {
  await execute(socket, `DROP DATABASE ${name}`)
}

/** Wait for a line with a text. Reading continues after it, so that the pipe never fills up. */
export async function waitForLine(stream: NodeJS.ReadableStream, text: string): Promise<string> {
  const lines: string[] = []
  const reader = createInterface({ input: stream })
  const found = new Promise<string>((resolve, reject) => {
    reader.on('line', (line) => {
      lines.push(line)
      if (line.includes(text)) resolve(line)
    })
    reader.on('close', () => reject(new Error(`no line has "${text}":\n${lines.join('\n')}`)))
  })
  return found
}
