import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withCpu } from './rounds.mjs'

const CLIENT = fileURLToPath(new URL('client.mjs', import.meta.url))
const CONNECTIONS = 32

let fileCount = 0

/**
 * Ask a server for paths as fast as it answers.
 * @param {import('./run.mjs').Run} run
 * @param {{ origin: string, pid: number }} server
 * @param {{ paths: readonly string[], seconds: number, method?: string, headers?: Record<string, string>, connections?: number, isOnce?: boolean, isClosing?: boolean }} order
 *   `isOnce`: each path is asked for once; `isClosing`: each request has a connection of its own
 * @returns {Promise<{ requests: number, perSecond: number, p50Ms: number, p99Ms: number, failures: number, cpuUs: number }>}
 */
export function measureLoad(run, server, order) {
  const { paths, method = 'GET', headers = {}, connections = CONNECTIONS, ...rest } = order
  const pathsFile = join(run.folder, `paths-${(fileCount += 1)}.txt`)
  writeFileSync(pathsFile, paths.join('\n'))
  const parameters = { origin: server.origin, pathsFile, method, headers, connections, ...rest }
  return withCpu(server.pid, async () => {
    const printed = await run.runToEnd([CLIENT, JSON.stringify(parameters)], { cpu: run.cpu.client })
    const result = JSON.parse(printed)
    if (result.failures > 0) throw new Error(`${paths[0]}: ${result.failures} of ${result.requests} failed`)
    return result
  })
}
