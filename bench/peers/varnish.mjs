import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../lib/processes.mjs'
import { findProgram } from '../lib/tools.mjs'

/**
 * Varnish as it comes, in front of Vitrine; `null` where it is not installed.
 * @param {import('../lib/run.mjs').Run} run
 * @param {string} origin of Vitrine
 */
export async function startVarnish(run, origin) {
  const command = findProgram('varnishd')
  if (command === null) return null
  const port = await findFreePort()
  const folder = join(run.folder, 'varnish')
  mkdirSync(folder, { recursive: true })
  const backend = origin.replace('http://', '')
  const parameters = [
    '-F',
    '-j',
    'none',
    '-a',
    `127.0.0.1:${port}`,
    '-b',
    backend,
    '-n',
    folder,
    '-s',
    'malloc,64m',
  ]
  const child = run.processes.start({ command, parameters, cpus: run.cpus.server, output: 'ignore' })
  return { child, origin: `http://127.0.0.1:${port}` }
}
