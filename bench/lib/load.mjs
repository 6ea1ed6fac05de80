import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withCpu } from './rounds.mjs'

const CLIENT = fileURLToPath(new URL('client.mjs', import.meta.url))
const CONNECTIONS = 32

let fileCount = 0

/**
 * Request paths from a server as fast as it responds.
 * @param {import('./run.mjs').Run} run
 * @param {{ origin: string, pid: number }} server
 * @param {{ paths: readonly string[], seconds: number, method?: string, headers?: Record<string, string>, connections?: number, isOnce?: boolean, isClosing?: boolean }} options
 *   `isOnce`: request each path once; `isClosing`: open a connection for each request
 * @returns {Promise<{ requests: number, perSecond: number, p50Ms: number, p99Ms: number, failures: number, cpuUs: number }>}
 */
export function measureLoad(run, server, options) {
  const { paths, method = 'GET', headers = {}, connections = CONNECTIONS, ...rest } = options
  const pathsFile = join(run.folder, `paths-${(fileCount += 1)}.txt`)
  writeFileSync(pathsFile, paths.join('\n'))
  const clientOptions = { origin: server.origin, pathsFile, method, headers, connections, ...rest }
  return withCpu(server.pid, async () => {
    const output = await run.runToEnd([CLIENT, JSON.stringify(clientOptions)], { cpu: run.cpu.client })
    const result = JSON.parse(output)
    if (result.failures > 0) throw new Error(`${paths[0]}: ${result.failures} of ${result.requests} failed`)
    return result
  })
}
