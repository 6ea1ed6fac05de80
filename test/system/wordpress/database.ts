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

/** Nothing of this machine's own settings, and no waiting for a disk that nobody needs. */
const QUICK = [
  '--innodb-flush-log-at-trx-commit=0',
  '--innodb-buffer-pool-size=24M',
  '--innodb-log-file-size=8M',
  '--skip-innodb-doublewrite',
]

/** Makes a new MariaDB with one empty database named `wordpress` in a folder. */
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
    ...QUICK,
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
      ...QUICK,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } },
  )
  const ended = once(child, 'exit')
  await waitForLine(child.stderr, 'ready for connections')
  await run(findProgram('mariadb'), [
    '--no-defaults',
    `--socket=${socket}`,
    '--user=root',
    '--execute=CREATE DATABASE wordpress CHARACTER SET utf8mb4',
  ])
  return {
    socket,
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Reads until a line says it. What comes after is read too, so that nobody waits for a full pipe. */
export async function waitForLine(stream: NodeJS.ReadableStream, words: string): Promise<string> {
  const lines: string[] = []
  const reader = createInterface({ input: stream })
  const found = new Promise<string>((resolve, reject) => {
    reader.on('line', (line) => {
      lines.push(line)
      if (line.includes(words)) resolve(line)
    })
    reader.on('close', () => reject(new Error(`never said "${words}":\n${lines.join('\n')}`)))
  })
  return found
}
