import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test, vi } from 'vitest'
import {
  type RunningCommand,
  makeFolder,
  makeSettings,
  startBuilt,
  startRemoteCatalog,
} from '../../cli/run-cli.ts'

type HeldServer = Readonly<{
  running: RunningCommand
  /** Let the start continue. */
  release(): void
  /** Log lines with this message. */
  countLines(message: string): number
}>

/**
 * Start a server whose start is blocked: as one process when it starts the catalog thread, with workers (and a remote
 * catalog) when they start. It logs when a stop is requested.
 */
async function startHeldServer(workers: '1' | '2'): Promise<HeldServer> {
  const folder = makeFolder()
  const [fuse, file] = [join(folder, 'fuse'), join(folder, 'hold.mjs')]
  writeFileSync(fuse, '')
  writeFileSync(
    file,
    `import { existsSync, writeSync } from 'node:fs'
     import { isMainThread } from 'node:worker_threads'
     const cell = new Int32Array(new SharedArrayBuffer(4))
     if (isMainThread && !process.argv[1].endsWith('worker.js'))
       process.on('SIGTERM', () => writeSync(2, 'stop requested\\n'))
     else if (existsSync(${JSON.stringify(fuse)})) {
       writeSync(2, 'held\\n')
       if (isMainThread) process.on('exit', () => writeSync(2, 'worker left\\n'))
       while (existsSync(${JSON.stringify(fuse)})) Atomics.wait(cell, 0, 0, 20)
     }`,
  )
  const settings = workers === '1' ? makeSettings(folder) : (await startRemoteCatalog(folder)).settings
  const running = startBuilt(['serve'], {
    ...settings,
    VITRINE_WORKERS: workers,
    VITRINE_LOG_LEVEL: 'info',
    NODE_OPTIONS: `--import ${pathToFileURL(file).href}`,
  })
  // Each worker is blocked, or the catalog thread.
  await vi.waitFor(() => expect(running.output().split('held\n').length - 1).toBe(Number(workers)))
  return {
    running,
    release: () => rmSync(fuse),
    countLines: (message) => running.output().split(`"msg":"${message}`).length - 1,
  }
}

test.each([
  ['1', 0],
  ['2', 2],
] as const)(
  'stopped during the start, VITRINE_WORKERS=%s - 0, without the startup message and without a walk',
  async (workers, leaving) => {
    const { running, release, countLines } = await startHeldServer(workers)
    // Its output and that of its workers has ended, so it is complete.
    const ended = once(running.child, 'close')
    running.child.kill('SIGTERM')
    await vi.waitFor(() => expect(running.output()).toContain('stop requested\n'))
    release()
    expect(await ended).toEqual([0, null])
    // All exited by themselves; none was killed.
    await vi.waitFor(() => expect(running.output().split('worker left').length - 1).toBe(leaving))
    expect(countLines('listening')).toBe(0)
    expect(running.output()).not.toContain('walk')
  },
)

test.each([
  ['1', 'read the key again'],
  ['2', 'reload done: all workers were replaced'],
] as const)(
  'SIGHUP during the start, VITRINE_WORKERS=%s - the server starts, then handles it',
  async (workers, heeded) => {
    const { running, release, countLines } = await startHeldServer(workers)
    running.child.kill('SIGHUP')
    release()
    await vi.waitFor(() => expect(countLines(heeded)).toBe(1))
    expect((await running.stop('SIGINT')).code).toBe(0)
    expect(countLines('listening')).toBe(1)
  },
)
