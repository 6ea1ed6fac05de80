import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort, startProgram } from '../system/includes/program.ts'
import { addCleanup } from './cleanup.ts'

/** Start PgBouncer in front of one database until the end of the test. Return the address through it. */
export async function startPgbouncer(
  databaseUrl: string,
  settings: Readonly<Record<string, string | number>>,
  port?: number,
): Promise<string> {
  const { hostname, port: serverPort, pathname, username, password } = new URL(databaseUrl)
  const listenPort = port ?? (await findFreePort())
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-pgbouncer-'))
  addCleanup(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'pgbouncer.ini')
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: listenPort,
    unix_socket_dir: '',
    auth_type: 'any',
    ...settings,
  }
  const lines = [
    '[databases]',
    `${pathname.slice(1)} = host=${hostname} port=${serverPort} user=${username}${password && ` password=${password}`}`,
    '[pgbouncer]',
    ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  // It refuses root, and the other user must be able to read the file.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  chmodSync(folder, 0o755)
  const running = await startProgram({ command: 'pgbouncer', args: [...user, file], port: listenPort })
  addCleanup(running.stop)
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${listenPort}`
  return url.href
}
