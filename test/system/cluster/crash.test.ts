import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { setUpOnce } from '../../helpers/cleanup.ts'
import { makeFolder, makeSettings, runBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'
import {
  type ClusterServer,
  ENDED_MESSAGE,
  requestOutcome,
  isAlive,
  fetchText,
  startCluster,
  startVisitors,
  sumSeries,
  waitForResponses,
} from './cluster-server.ts'

/** Write a module that runs `code` in every worker; in `code`, `fuse` is the path of a file that triggers the crash. */
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

/** Wait until each worker responds to the primary; one that crashes at its start never does. */
async function waitUntilAllWorkersRespond({ publicUrl }: ClusterServer): Promise<void> {
  await vi.waitFor(async () => {
    const page = await fetchText(`${publicUrl}/metrics`)
    for (const number of [1, 2]) expect(page).toContain(`process="worker-${number}"`)
  })
}

/** Return the log lines about the end of this worker. */
const findExitLines = (server: ClusterServer, worker: number): readonly Readonly<Record<string, unknown>>[] =>
  server.findLogLines(ENDED_MESSAGE).filter(({ pid }) => pid === worker)

/** Return a function that lists the log lines about ended workers since now. */
function watchExitLines(server: ClusterServer): () => readonly Readonly<Record<string, unknown>>[] {
  const countBefore = server.findLogLines(ENDED_MESSAGE).length
  return () => server.findLogLines(ENDED_MESSAGE).slice(countBefore)
}

describe('killed workers', () => {
  const getServer = setUpOnce(() => startCluster())

  test('one worker, under load - is logged once and replaced at once, and new connections are served', async () => {
    const server = getServer()
    const [victim = 0] = server.workerPids()
    const visitors = startVisitors(server.box ?? '')
    await waitForResponses(visitors, 200)
    process.kill(victim, 'SIGKILL')
    await waitForResponses(visitors, 500)
    await waitForWorkers(server, [victim])
    await visitors.stop()
    // Only the pending requests of the killed process may fail: at most one for each visitor.
    const lost = [...visitors.outcomes].filter(([outcome]) => outcome !== '200 shown')
    expect(lost.every(([outcome]) => outcome === 'ECONNRESET')).toBe(true)
    expect(lost.reduce((sum, [, count]) => sum + count, 0)).toBeLessThanOrEqual(8)
    await vi.waitFor(() =>
      expect(findExitLines(server, victim)).toMatchObject([{ level: 50, signal: 'SIGKILL' }]),
    )
  })

  test('a suspended worker - is detected and replaced', async () => {
    const server = getServer()
    const [victim = 0] = server.workerPids()
    process.kill(victim, 'SIGSTOP')
    await vi.waitFor(() => expect(isAlive(victim)).toBe(false))
    await waitForWorkers(server, [victim])
    await vi.waitFor(() => expect(findExitLines(server, victim)).toMatchObject([{ isHung: true }]))
    expect(await requestOutcome(server.box ?? '')).toBe('200 shown')
  })

  test('all workers at once - are restarted on the same port, and the server stops with 0', async () => {
    const server = getServer()
    const before = server.workerPids()
    for (const pid of before) process.kill(pid, 'SIGKILL')
    await waitForWorkers(server, before)
    await vi.waitFor(async () => expect(await requestOutcome(server.box ?? '')).toBe('200 shown'))
    expect((await server.running.stop('SIGTERM')).code).toBe(0)
  })
})

test('remote catalog, all workers killed twice in a row - the primary waits, then restarts them', async () => {
  const { settings } = await startRemoteCatalog(makeFolder())
  const server = await startCluster({ ...settings, VITRINE_SYNC_CRON: 'off' })
  const first = server.workerPids()
  for (const pid of first) process.kill(pid, 'SIGKILL')
  await waitForWorkers(server, first)
  const second = server.workerPids()
  // Now only the primary runs, which waits half a second: no thread, no listener, no walk.
  for (const pid of second) process.kill(pid, 'SIGKILL')
  await waitForWorkers(server, [...first, ...second])
  await vi.waitFor(async () =>
    expect(await requestOutcome(`${server.publicUrl}/healthz`)).toBe('200 undefined'),
  )
  await vi.waitFor(() => expect(server.findLogLines(ENDED_MESSAGE)).toHaveLength(4))
  expect((await server.running.stop('SIGTERM')).code).toBe(0)
})

describe('crashing workers', () => {
  const getCrashingCluster = setUpOnce(async () => {
    const folder = makeFolder()
    const { fuse, NODE_OPTIONS } = createCrashingModule(
      folder,
      `if (existsSync(fuse)) process.exit(9)
       process.on('SIGUSR2', () => setImmediate(() => { throw new Error('boom') }))`,
    )
    return { fuse, server: await startCluster(makeSettings(folder, { NODE_OPTIONS })) }
  })

  test('repeated crashes - the delay before a restart grows, and the worker returns', async () => {
    const { server, fuse } = getCrashingCluster()
    const listExitLines = watchExitLines(server)
    const [victim = 0] = server.workerPids()
    writeFileSync(fuse, '')
    process.kill(victim, 'SIGKILL')
    await vi.waitFor(() => expect(listExitLines().length).toBeGreaterThanOrEqual(4))
    const times = listExitLines().map(({ time }) => Date.parse(String(time)))
    const gapsMs = times.slice(1).map((time, index) => time - (times[index] ?? 0))
    // The delays are 0 s, 0.5 s and 1 s, plus the time of each start.
    expect(gapsMs[1]).toBeGreaterThanOrEqual(500)
    expect(gapsMs[2]).toBeGreaterThanOrEqual(1_000)
    expect(listExitLines().at(-1)).toMatchObject({ code: 9, signal: null })
    // Meanwhile the other worker responds.
    expect(await requestOutcome(server.box ?? '')).toBe('200 shown')
    rmSync(fuse)
    await waitUntilAllWorkersRespond(server)
    await vi.waitFor(async () =>
      expect(
        sumSeries(await fetchText(`${server.publicUrl}/metrics`), 'vitrine_worker_restarts_total'),
      ).toBeGreaterThan(2),
    )
  })

  test('an uncaught error - is logged with the number of the worker, which is replaced', async () => {
    const { server } = getCrashingCluster()
    const [victim = 0] = server.workerPids()
    process.kill(victim, 'SIGUSR2')
    await waitForWorkers(server, [victim])
    await vi.waitFor(() =>
      expect(server.findLogLines('boom')).toMatchObject([{ level: 60, worker: expect.any(Number) }]),
    )
    await vi.waitFor(() => expect(findExitLines(server, victim)).toMatchObject([{ code: 70 }]))
  })

  test('primary killed - all workers exit, and the port is closed', async () => {
    const { server } = getCrashingCluster()
    const workers = server.workerPids()
    const ended = once(server.running.child, 'exit')
    process.kill(server.primaryPid, 'SIGKILL')
    await ended
    await vi.waitFor(() => expect(workers.filter(isAlive)).toEqual([]))
    await vi.waitFor(async () => expect(await requestOutcome(server.box ?? '')).toBe('ECONNREFUSED'))
  })
})

test('a worker that cannot listen - the server exits with 1 and with the reason of the worker', async () => {
  const folder = makeFolder()
  const failure = "Object.assign(new Error('listen'), { code: 'EADDRINUSE' })"
  const code = `const { Server } = await import('node:net')
    Server.prototype.listen = function () { setImmediate(() => this.emit('error', ${failure})); return this }`
  const { NODE_OPTIONS } = createCrashingModule(folder, code)
  const settings = makeSettings(folder, { NODE_OPTIONS, VITRINE_WORKERS: '2' })
  const ended = await runBuilt(['serve'], settings)
  expect(ended.err).toMatch(
    /worker \d ended during its start: cannot listen on 127\.0\.0\.1, port \d+: the port is in use\. Stop the other .* \(VITRINE_WORKER_FAILED\)/,
  )
  expect(ended.code).toBe(1)
})

test('a worker that crashes during the first start - the server exits with 1 and a message', async () => {
  const folder = makeFolder()
  const { NODE_OPTIONS } = createCrashingModule(folder, 'process.exit(9)')
  const { code, err } = await runBuilt(
    ['serve'],
    makeSettings(folder, { NODE_OPTIONS, VITRINE_WORKERS: '2' }),
  )
  expect(err).toMatch(/worker \d ended during its start: exit code 9 \(VITRINE_WORKER_FAILED\)/)
  expect(code).toBe(1)
})
