import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { findProgram } from './programs.ts'

const run = promisify(execFile)

/** A MariaDB that only a socket reaches. */
export type Database = Readonly<{ socket: string; stop(): Promise<void> }>

/** A database of a server. */
export type DatabaseReference = Readonly<{ socket: string; name: string }>

/** Nothing of this machine's own settings, and no waiting for a disk that nobody needs. */
const FAST_FLAGS = [
  '--innodb-flush-log-at-trx-commit=0',
  '--innodb-buffer-pool-size=24M',
  '--innodb-log-file-size=8M',
  '--skip-innodb-doublewrite',
]

/** Makes a new MariaDB in a folder. */
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

/** Executes statements, and gives the lines of what they say. */
async function execute(socket: string, statements: string): Promise<readonly string[]> {
  const flags = ['--no-defaults', `--socket=${socket}`, '--user=root', '--batch', '--skip-column-names']
  const { stdout } = await run(findProgram('mariadb'), [...flags, `--execute=${statements}`])
  return stdout.split('\n').filter((line) => line !== '')
}

/** Makes an empty database. */
export async function createDatabase({ socket, name }: DatabaseReference): Promise<void> {
  await execute(socket, `CREATE DATABASE ${name} CHARACTER SET utf8mb4`)
}

/** Makes a database with the tables and rows of another one. */
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

/** Removes a database. */
export async function dropDatabase({ socket, name }: DatabaseReference): Promise<void> {
  await execute(socket, `DROP DATABASE ${name}`)
}

/** Reads until a line says it. What comes after is read too, so that nobody waits for a full pipe. */
export async function waitForLine(stream: NodeJS.ReadableStream, text: string): Promise<string> {
  const lines: string[] = []
  const reader = createInterface({ input: stream })
  const found = new Promise<string>((resolve, reject) => {
    reader.on('line', (line) => {
      lines.push(line)
      if (line.includes(text)) resolve(line)
    })
    reader.on('close', () => reject(new Error(`never said "${text}":\n${lines.join('\n')}`)))
  })
  return found
}
