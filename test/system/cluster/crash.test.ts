import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { setUpOnce } from '../../helpers/cleanup.ts'
import { makeFolder, makeSettings, runBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'
import {
  type ClusterServer,
  requestOutcome,
  isAlive,
  fetchText,
  startCluster,
  startVisitors,
  sumSeries,
  waitForResponses,
} from './cluster-server.ts'

const ENDED = 'a worker ended'

/** Ends every worker a moment after it is ready, as long as the fuse is there. */
function createCrashingModule(
  folder: string,
  code: string,
): Readonly<{ fuse: string; NODE_OPTIONS: string }> {
  const fuse = join(folder, 'fuse')
  const file = join(folder, 'bomb.mjs')
  writeFileSync(
    file,
    `import { existsSync } from 'node:fs'
     import { isMainThread } from 'node:worker_threads'
     const fuse = ${JSON.stringify(fuse)}
     if (isMainThread && process.argv[1].endsWith('worker.js')) { ${code} }`,
  )
  return { fuse, NODE_OPTIONS: `--import ${pathToFileURL(file).href}` }
}

async function waitForWorkers(server: ClusterServer, excludedPids: readonly number[]): Promise<void> {
  await vi.waitFor(() => {
    const pids = server.workerPids()
    expect(pids).toHaveLength(2)
    expect(pids.filter((pid) => excludedPids.includes(pid))).toEqual([])
  })
}

/** Until each worker answers the primary, which one that ends at its start never does. */
async function waitUntilAllWorkersRespond({ publicUrl }: ClusterServer): Promise<void> {
  await vi.waitFor(async () => {
    const page = await fetchText(`${publicUrl}/metrics`)
    for (const number of [1, 2]) expect(page).toContain(`process="worker-${number}"`)
  })
}

/** Lines that say how this worker ended. */
const findExitLines = (server: ClusterServer, worker: number): readonly Readonly<Record<string, unknown>>[] =>
  server.findLogLines(ENDED).filter(({ pid }) => pid === worker)

/** Lines of ended workers that this fleet says from now on. */
function watchExitLines(server: ClusterServer): () => readonly Readonly<Record<string, unknown>>[] {
  const before = server.findLogLines(ENDED).length
  return () => server.findLogLines(ENDED).slice(before)
}

describe('workers that are killed', () => {
  const getServer = setUpOnce(() => startCluster())

  test('one under load - one line, another one at once, and whoever connects anew is answered', async () => {
    const server = getServer()
    const [victim = 0] = server.workerPids()
    const visitors = startVisitors(server.box ?? '')
    await waitForResponses(visitors, 200)
    process.kill(victim, 'SIGKILL')
    await waitForResponses(visitors, 500)
    await waitForWorkers(server, [victim])
    await visitors.stop()
    // Only what was under way in the killed process may be lost: at most one request of each visitor.
    const lost = [...visitors.outcomes].filter(([outcome]) => outcome !== '200 shown')
    expect(lost.every(([outcome]) => outcome === 'ECONNRESET')).toBe(true)
    expect(lost.reduce((sum, [, count]) => sum + count, 0)).toBeLessThanOrEqual(8)
    await vi.waitFor(() =>
      expect(findExitLines(server, victim)).toMatchObject([{ level: 50, signal: 'SIGKILL' }]),
    )
  })

  test('event loop of one stands still - it is noticed and replaced', async () => {
    const server = getServer()
    const [victim = 0] = server.workerPids()
    process.kill(victim, 'SIGSTOP')
    await vi.waitFor(() => expect(isAlive(victim)).toBe(false))
    await waitForWorkers(server, [victim])
    await vi.waitFor(() => expect(findExitLines(server, victim)).toMatchObject([{ isHung: true }]))
    expect(await requestOutcome(server.box ?? '')).toBe('200 shown')
  })

  test('all at once - they come back on the same port, and the whole ends well', async () => {
    const server = getServer()
    const before = server.workerPids()
    for (const pid of before) process.kill(pid, 'SIGKILL')
    await waitForWorkers(server, before)
    await vi.waitFor(async () => expect(await requestOutcome(server.box ?? '')).toBe('200 shown'))
    expect((await server.running.stop('SIGTERM')).code).toBe(0)
  })
})

test('catalog of others, all workers killed twice within moments - the primary waits, and they come back', async () => {
  const { settings } = await startRemoteCatalog(makeFolder())
  const server = await startCluster({ ...settings, VITRINE_SYNC_CRON: 'off' })
  const first = server.workerPids()
  for (const pid of first) process.kill(pid, 'SIGKILL')
  await waitForWorkers(server, first)
  const second = server.workerPids()
  // Nothing lives now but the primary, which waits half a second: no thread, no listener, no walk.
  for (const pid of second) process.kill(pid, 'SIGKILL')
  await waitForWorkers(server, [...first, ...second])
  await vi.waitFor(async () =>
    expect(await requestOutcome(`${server.publicUrl}/healthz`)).toBe('200 undefined'),
  )
  await vi.waitFor(() => expect(server.findLogLines(ENDED)).toHaveLength(4))
  expect((await server.running.stop('SIGTERM')).code).toBe(0)
})

describe('workers that end by themselves', () => {
  const getCrashingCluster = setUpOnce(async () => {
    const folder = makeFolder()
    const { fuse, NODE_OPTIONS } = createCrashingModule(
      folder,
      `if (existsSync(fuse)) process.exit(9)
       process.on('SIGUSR2', () => setImmediate(() => { throw new Error('boom') }))`,
    )
    return { fuse, server: await startCluster(makeSettings(folder, { NODE_OPTIONS })) }
  })

  test('again and again - are waited for longer and longer, and come back', async () => {
    const { server, fuse } = getCrashingCluster()
    const listExitLines = watchExitLines(server)
    const [victim = 0] = server.workerPids()
    writeFileSync(fuse, '')
    process.kill(victim, 'SIGKILL')
    await vi.waitFor(() => expect(listExitLines().length).toBeGreaterThanOrEqual(4))
    const times = listExitLines().map(({ time }) => Date.parse(String(time)))
    const gapsMs = times.slice(1).map((time, index) => time - (times[index] ?? 0))
    // At once; then after half a second, and after a second; starting takes its time, too.
    expect(gapsMs[1]).toBeGreaterThanOrEqual(500)
    expect(gapsMs[2]).toBeGreaterThanOrEqual(1_000)
    expect(listExitLines().at(-1)).toMatchObject({ code: 9, signal: null })
    // The other one answers meanwhile.
    expect(await requestOutcome(server.box ?? '')).toBe('200 shown')
    rmSync(fuse)
    await waitUntilAllWorkersRespond(server)
    await vi.waitFor(async () =>
      expect(
        sumSeries(await fetchText(`${server.publicUrl}/metrics`), 'vitrine_worker_restarts_total'),
      ).toBeGreaterThan(2),
    )
  })

  test('error that nobody catches - is logged with its number; another one takes its place', async () => {
    const { server } = getCrashingCluster()
    const [victim = 0] = server.workerPids()
    process.kill(victim, 'SIGUSR2')
    await waitForWorkers(server, [victim])
    await vi.waitFor(() =>
      expect(server.findLogLines('boom')).toMatchObject([{ level: 60, worker: expect.any(Number) }]),
    )
    await vi.waitFor(() => expect(findExitLines(server, victim)).toMatchObject([{ code: 70 }]))
  })

  test('primary killed - no worker stays behind, and nobody listens', async () => {
    const { server } = getCrashingCluster()
    const workers = server.workerPids()
    const ended = once(server.running.child, 'exit')
    process.kill(server.primaryPid, 'SIGKILL')
    await ended
    await vi.waitFor(() => expect(workers.filter(isAlive)).toEqual([]))
    await vi.waitFor(async () => expect(await requestOutcome(server.box ?? '')).toBe('ECONNREFUSED'))
  })
})

test('worker that does not come up at the start - ends the whole with 1, and says so', async () => {
  const folder = makeFolder()
  const { NODE_OPTIONS } = createCrashingModule(folder, 'process.exit(9)')
  const { code, err } = await runBuilt(
    ['serve'],
    makeSettings(folder, { NODE_OPTIONS, VITRINE_WORKERS: '2' }),
  )
  expect(err).toMatch(/worker \d ended during its start: exit code 9 \(VITRINE_WORKER_FAILED\)/)
  expect(code).toBe(1)
})
