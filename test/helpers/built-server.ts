import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Environment } from '../../src/config/config.ts'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'

/** Output of `serve --json` with sample data. */
export type ServedAddresses = Readonly<{ publicUrl: string; studio: string; box: string; grid: string }>

/** A running built server. `ended` resolves when its process exits. */
export type BuiltServer = Readonly<{
  addresses: ServedAddresses
  pid: number
  ended: Promise<unknown>
  stop(): Promise<void>
}>

/**
 * On a busy machine, a first response takes long. A test of what visitors get who wait for too long sets its own limit, or `undefined`
 * for that of the program.
 */
export const LONG_VISITOR_TIMEOUT = { VITRINE_VISITOR_TIMEOUT_MS: '5000' }

/** Start the built server with sample data in its own folder, for a whole test file. */
export async function startBuiltServer(settings: Environment = {}): Promise<BuiltServer> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-served-'))
  const child = spawn(process.execPath, [join(PACKAGE_FOLDER, 'dist/main.js'), 'serve', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      VITRINE_PORT: '0',
      VITRINE_LOG_LEVEL: 'warn',
      VITRINE_DATABASE_URL: `sqlite:${join(folder, 'copy.db')}`,
      VITRINE_CATALOG_DATABASE_URL: `sqlite:${join(folder, 'catalog.db')}`,
      ...LONG_VISITOR_TIMEOUT,
      ...settings,
    },
  })
  const ended = once(child, 'exit')
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(async ([code]) => {
      await rm(folder, { recursive: true, force: true })
      throw new Error(`the server exited before it listened: ${String(code)}`)
    }),
  ])) as [string]
  return {
    addresses: JSON.parse(line) as ServedAddresses,
    pid: child.pid as number,
    ended,
    async stop() {
      // Like Ctrl-C: stop without the grace period for a load balancer.
      child.kill('SIGINT')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
