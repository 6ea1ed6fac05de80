import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { computeCheckDigit } from '../../../src/offers/gtin.ts'
import { makeFolder, makeSettings, startRemoteCatalog } from '../../cli/run-cli.ts'
import { setUpOnce } from '../../helpers/cleanup.ts'
import { CHANNEL_ID, sendJson } from '../../helpers/fake-catalog.ts'
import {
  type ClusterServer,
  requestOutcome,
  isAlive,
  startCluster,
  startVisitors,
  waitForResponses,
} from './cluster-server.ts'

const REPLACED_MESSAGE = 'all workers were replaced'

/** Wait until the log has this number of finished reloads. Calls `onPoll` before each check. */
async function waitForReloads(
  server: ClusterServer,
  expectedCount: number,
  onPoll?: () => void,
): Promise<void> {
  await vi.waitFor(() => {
    onPoll?.()
    expect(server.findLogLines(REPLACED_MESSAGE)).toHaveLength(expectedCount)
  })
}

describe('SIGHUP', () => {
  const getCrashingCluster = setUpOnce(async () => {
    const folder = makeFolder()
    const [crashModule, fuse] = [join(folder, 'bomb.mjs'), join(folder, 'fuse')]
    writeFileSync(
      crashModule,
      `import { existsSync } from 'node:fs'
       if (process.argv[1].endsWith('worker.js') && existsSync(${JSON.stringify(fuse)})) process.exit(9)`,
    )
    const settings = makeSettings(folder, { NODE_OPTIONS: `--import ${pathToFileURL(crashModule).href}` })
    return { fuse, server: await startCluster(settings) }
  })

  test('under load - every worker is replaced, no response is lost, and /readyz is always 200', async () => {
    const { server } = getCrashingCluster()
    const oldPids = server.workerPids()
    expect(oldPids).toHaveLength(2)
    const visitors = startVisitors(server.box ?? '')
    const balancer = startVisitors(`${server.publicUrl}/readyz`, 2)
    await waitForResponses(visitors, 200)
    server.running.child.kill('SIGHUP')
    await waitForReloads(server, 1)
    await waitForResponses(visitors, 200)
    await Promise.all([visitors.stop(), balancer.stop()])
    expect([...visitors.outcomes.keys()]).toEqual(['200 shown'])
    expect([...balancer.outcomes.keys()]).toEqual(['200 undefined'])
    expect(visitors.count()).toBeGreaterThan(400)
    const newPids = server.workerPids()
    expect(newPids).toHaveLength(2)
    expect(newPids.filter((pid) => oldPids.includes(pid))).toEqual([])
    expect(oldPids.filter(isAlive)).toEqual([])
  })

  test('twice in a row - one reload after the other, never more than one extra worker', async () => {
    const { server } = getCrashingCluster()
    const reloads = server.findLogLines(REPLACED_MESSAGE).length
    const counts = new Set<number>()
    server.running.child.kill('SIGHUP')
    await vi.waitFor(() => expect(server.workerPids()).toHaveLength(3))
    server.running.child.kill('SIGHUP')
    await waitForReloads(server, reloads + 2, () => counts.add(server.workerPids().length))
    expect(Math.max(...counts)).toBeLessThanOrEqual(3)
    expect(server.workerPids()).toHaveLength(2)
  })

  test('a new worker that crashes - the reload is aborted, the old workers continue, and the server stops with 0', async () => {
    const { server, fuse } = getCrashingCluster()
    const reloads = server.findLogLines(REPLACED_MESSAGE).length
    const oldPids = server.workerPids()
    writeFileSync(fuse, '')
    const visitors = startVisitors(server.box ?? '')
    server.running.child.kill('SIGHUP')
    await vi.waitFor(() => expect(server.findLogLines('reload stopped')).toHaveLength(1))
    await visitors.stop()
    expect([...visitors.outcomes.keys()]).toEqual(['200 shown'])
    expect(server.workerPids()).toEqual(oldPids)
    expect(server.findLogLines(REPLACED_MESSAGE)).toHaveLength(reloads)
    expect((await server.running.stop('SIGTERM')).code).toBe(0)
  })
})

test('a new key in the key file, SIGHUP - every worker uses it', async () => {
  const folder = makeFolder()
  const { catalog, settings } = await startRemoteCatalog(folder)
  const file = join(folder, 'key')
  writeFileSync(file, 'old-key-of-the-file')
  catalog.fault = {
    pathPattern: /./,
    respond: (call, response) =>
      call.url === '/v0/channels'
        ? sendJson(response, 200, { items: catalog.channels })
        : sendJson(response, 404, { error: 'none' }),
  }
  const server = await startCluster({
    ...settings,
    VITRINE_CATALOG_KEY: undefined,
    VITRINE_CATALOG_KEY_FILE: file,
    VITRINE_SYNC_CRON: 'off',
    // No limit on unknown products: the test looks them up until all workers are replaced.
    VITRINE_UNKNOWN_LOOKUPS_PER_HOUR: '1000000',
    // The first look-ups of new processes may be slow on a busy machine.
    VITRINE_VISITOR_TIMEOUT_MS: '10000',
  })
  let item = 100
  const lookUp = async (): Promise<void> => {
    const first13 = String(item++).padStart(13, '0')
    const gtin = `${first13}${computeCheckDigit(first13)}`
    expect(await requestOutcome(`${server.publicUrl}/fragments/${CHANNEL_ID}/where-to-buy/${gtin}`)).toBe(
      '200 hidden',
    )
  }
  await lookUp()
  expect(catalog.calls.at(-1)?.headers.authorization).toBe('Bearer old-key-of-the-file')
  writeFileSync(file, 'new-key-of-the-file')
  server.running.child.kill('SIGHUP')
  await vi.waitFor(() => expect(server.findLogLines('read the key again: it changed')).toHaveLength(1))
  // The workers receive the key a moment later.
  await vi.waitFor(async () => {
    await lookUp()
    expect(catalog.calls.at(-1)?.headers.authorization).toBe('Bearer new-key-of-the-file')
  })
  const countBefore = catalog.calls.length
  // Both old and new workers make these calls.
  while (server.findLogLines(REPLACED_MESSAGE).length === 0) await lookUp()
  const keys = new Set(catalog.calls.slice(countBefore + 1).map(({ headers }) => headers.authorization))
  expect([...keys]).toEqual(['Bearer new-key-of-the-file'])
  expect(server.running.output()).not.toMatch(/(?:old|new)-key-of-the-file/)
})
