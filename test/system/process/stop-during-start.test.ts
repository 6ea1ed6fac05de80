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

type PausedServer = Readonly<{
  running: RunningCommand
  /** Let the start continue. */
  release(): void
  /** Return the number of log lines with this message. */
  countLines(message: string): number
}>

/**
 * Start a server whose start is paused: a single process in its catalog thread, several workers (with a remote catalog) in
 * each worker. It prints a line when it receives SIGTERM.
 */
async function startPausedServer(workers: '1' | '2'): Promise<PausedServer> {
  const folder = makeFolder()
  const [pauseFile, file] = [join(folder, 'pause-file'), join(folder, 'pause.mjs')]
  writeFileSync(pauseFile, '')
  writeFileSync(
    file,
    `import { existsSync, writeSync } from 'node:fs'
     import { isMainThread } from 'node:worker_threads'
     const cell = new Int32Array(new SharedArrayBuffer(4))
     if (isMainThread && !process.argv[1].endsWith('worker.js'))
       process.on('SIGTERM', () => writeSync(2, 'SIGTERM received\\n'))
     else if (existsSync(${JSON.stringify(pauseFile)})) {
       writeSync(2, 'paused\\n')
       if (isMainThread) process.on('exit', () => writeSync(2, 'worker exited\\n'))
       while (existsSync(${JSON.stringify(pauseFile)})) Atomics.wait(cell, 0, 0, 20)
     }`,
  )
  const settings = workers === '1' ? makeSettings(folder) : (await startRemoteCatalog(folder)).settings
  const running = startBuilt(['serve'], {
    ...settings,
    VITRINE_WORKERS: workers,
    VITRINE_LOG_LEVEL: 'info',
    NODE_OPTIONS: `--import ${pathToFileURL(file).href}`,
  })
  // Each worker, or the catalog thread, is paused.
  await vi.waitFor(() => expect(running.output().split('paused\n').length - 1).toBe(Number(workers)))
  return {
    running,
    release: () => rmSync(pauseFile),
    countLines: (message) => running.output().split(`"msg":"${message}`).length - 1,
  }
}

test.each([
  ['1', 0],
  ['2', 2],
] as const)(
  'SIGTERM during the start, VITRINE_WORKERS=%s - exits with 0; it neither listens nor starts a walk',
  async (workers, workerExits) => {
    const { running, release, countLines } = await startPausedServer(workers)
    // `close`, not `exit`: the output of the server and its workers is complete.
    const ended = once(running.child, 'close')
    running.child.kill('SIGTERM')
    await vi.waitFor(() => expect(running.output()).toContain('SIGTERM received\n'))
    release()
    expect(await ended).toEqual([0, null])
    // The workers exited by themselves: none had to be killed.
    await vi.waitFor(() => expect(running.output().split('worker exited').length - 1).toBe(workerExits))
    expect(countLines('listening')).toBe(0)
    expect(running.output()).not.toContain('walk')
  },
)

test.each([
  ['1', 'read the key again'],
  ['2', 'reload done: all workers were replaced'],
] as const)(
  'SIGHUP during the start, VITRINE_WORKERS=%s - the server starts, and then handles the signal',
  async (workers, message) => {
    const { running, release, countLines } = await startPausedServer(workers)
    running.child.kill('SIGHUP')
    release()
    await vi.waitFor(() => expect(countLines(message)).toBe(1))
    expect((await running.stop('SIGINT')).code).toBe(0)
    expect(countLines('listening')).toBe(1)
  },
)
