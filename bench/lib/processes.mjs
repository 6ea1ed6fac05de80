import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'

/** Where programs look for others. */
const PATH = process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin'

/** How long a program may take from being told to stop until it is killed. */
const STOP_WITHIN_MS = 15_000

/**
 * Starts programs, and stops whatever still runs.
 * @param {{ folder: string, isPinned: boolean }} details `folder`: where they run
 */
export function createProcesses({ folder, isPinned }) {
  /** @type {Set<import('node:child_process').ChildProcess>} */
  const running = new Set()
  let isClosed = false

  /**
   * Starts a program; `cpus` names the cores that it may use, where programs are pinned at all.
   * @param {{ command: string, parameters: readonly string[], env?: Record<string, string>, cpus?: string | null, output?: 'pipe' | 'ignore' }} order
   */
  const start = ({ command, parameters, env = {}, cpus = null, output = 'pipe' }) => {
    if (isClosed) throw new Error('the bench is ending')
    const isMoved = isPinned && cpus !== null
    const child = spawn(
      isMoved ? 'taskset' : command,
      isMoved ? ['-c', cpus, command, ...parameters] : parameters,
      {
        cwd: folder,
        env: { PATH, HOME: folder, ...env },
        stdio: ['ignore', output, 'pipe'],
      },
    )
    child.errors = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      child.errors = (child.errors + text).slice(-4_000)
    })
    running.add(child)
    child.once('exit', () => running.delete(child))
    child.once('error', () => running.delete(child))
    return child
  }

  return {
    start,

    /** Runs a program to its end and gives what it printed. */
    async run(order) {
      const child = start(order)
      let printed = ''
      child.stdout.setEncoding('utf8').on('data', (text) => {
        printed += text
      })
      const [code] = await once(child, 'close')
      if (code !== 0) throw new Error(`${order.command} ended with ${code}: ${child.errors || printed}`)
      return printed
    },

    /** The first line that a program prints, as JSON. */
    async readFirstLine(child) {
      const lines = createInterface({ input: child.stdout })
      const ended = once(child, 'exit').then(([code]) => {
        throw new Error(`ended with ${code} before it was ready: ${child.errors}`)
      })
      const [line] = await Promise.race([once(lines, 'line'), ended])
      ended.catch(() => {})
      return JSON.parse(line)
    },

    stop,

    async stopAll() {
      while (running.size > 0) await Promise.all([...running].map((child) => stop(child)))
    },

    /** From now on nothing is started any more: a scenario that still runs would leave it behind. */
    close() {
      isClosed = true
    },
  }
}

/** Ends a program, and waits until it has ended. */
async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const limit = new AbortController()
  const killed = wait(STOP_WITHIN_MS, undefined, { signal: limit.signal }).then(
    () => child.kill('SIGKILL'),
    () => {},
  )
  await ended
  limit.abort()
  await killed
}

/** Ports that no system hands out by itself, so that no connection gets one before the program opens it. The tests have those from 20,000 on. */
const FIRST_PORT = 10_000
const PORTS = 10_000

/** A port that nobody listens on now. */
export async function findFreePort() {
  const port = FIRST_PORT + randomInt(PORTS)
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return findFreePort()
  }
  server.close()
  await once(server, 'close')
  return port
}

/**
 * Asks over and over until `isReady` says yes.
 * @param {() => Promise<boolean>} isReady a failure counts as no
 * @param {{ what: string, withinMs?: number, everyMs?: number, child?: import('node:child_process').ChildProcess }} details
 */
export async function waitUntil(isReady, { what, withinMs = 60_000, everyMs = 20, child }) {
  const untilMs = performance.now() + withinMs
  for (;;) {
    if (await isReady().catch(() => false)) return
    if (child !== undefined && (child.exitCode !== null || child.signalCode !== null))
      throw new Error(`${what}: the program ended before: ${child.errors}`)
    if (performance.now() > untilMs) throw new Error(`${what}: not within ${withinMs} ms`)
    await wait(everyMs)
  }
}
