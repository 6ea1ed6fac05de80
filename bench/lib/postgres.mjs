import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { findPostgres, toOwner } from './postgres-programs.mjs'
import { findFreePort, waitUntil } from './processes.mjs'

/**
 * Starts a PostgreSQL of its own for a run, as it is by default: what it says is stored, is. It ends with `stop`.
 * @param {import('./run.mjs').Run} run
 */
export async function startPostgres(run) {
  const { bin, uid } = findPostgres()
  const folder = join(run.folder, 'postgres')
  mkdirSync(folder)
  chmodSync(run.folder, 0o711)
  if (uid !== undefined) chownSync(folder, uid, uid)
  const options = { ...toOwner(uid), cwd: folder, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', HOME: folder } }
  const data = join(folder, 'data')
  const made = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8'],
    options,
  )
  if (made.status !== 0) throw new Error(`initdb failed: ${String(made.stderr)}`)
  const port = await findFreePort()
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories='].flatMap((text) => ['-c', text])
  const child = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...settings], {
    ...options,
    stdio: 'ignore',
  })
  const url = `postgres://bench@127.0.0.1:${port}/postgres`
  await waitUntil(
    () =>
      query(url, 'select 1').then(
        () => true,
        () => false,
      ),
    { what: 'PostgreSQL listens', child, everyMs: 20 },
  )
  return {
    url,
    pid: child.pid,
    query: (statement) => query(url, statement),
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGINT')
      await ended
    },
  }
}

async function query(url, statement) {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}
