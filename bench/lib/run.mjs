import { execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism, cpus, loadavg, release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const PATH = process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin'

/** Kill a program that has not ended this long after SIGTERM. */
const STOP_TIMEOUT_MS = 15_000

/** The context of a scenario. @typedef {ReturnType<typeof createRun>} Run */

/**
 * Create a benchmark run: its options, the machine, and the programs that it starts.
 * @param {{ rounds: number, seconds: number, products: number, node: string, database: string | null }} options
 */
export function createRun(options) {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-bench-'))
  const isPinned = availableParallelism() >= 2 && succeeds('taskset', ['--version'])
  /** @type {Set<import('node:child_process').ChildProcess>} */
  const running = new Set()

  /** @param {{ env?: Record<string, string>, cpu?: string | null }} [extra] `cpu`: the core to pin it to */
  function start(args, { env = {}, cpu = null } = {}) {
    const command = isPinned && cpu !== null ? ['taskset', '-c', cpu, options.node] : [options.node]
    const child = spawn(command[0], [...command.slice(1), ...args], {
      cwd: folder,
      env: { PATH, HOME: folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.errors = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      child.errors = (child.errors + text).slice(-4_000)
    })
    running.add(child)
    child.once('exit', () => running.delete(child))
    return child
  }

  async function stopAll() {
    while (running.size > 0) await Promise.all([...running].map((child) => stop(child)))
  }

  return {
    options,
    folder,
    isPinned,
    machine: describeMachine(options.node),
    /** Client and catalog share one core; the measured server has the other. */
    cpu: { client: '0', server: '1' },
    log: (text) => process.stderr.write(`${text}\n`),
    start,
    stop,
    stopAll,

    /** Run a program to its end and return its output. */
    async runToEnd(args, extra) {
      const child = start(args, extra)
      let output = ''
      child.stdout.setEncoding('utf8').on('data', (text) => (output += text))
      const [code] = await once(child, 'close')
      if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${child.errors || output}`)
      return output
    },

    /** Start a server of bench/peers/, which prints its port. */
    async startPeer(script, args = [], cpu = '1') {
      const path = fileURLToPath(new URL(`../peers/${script}`, import.meta.url))
      const child = start([path, ...args], { cpu })
      const { port } = await readFirstLine(child)
      return { child, pid: child.pid, origin: `http://127.0.0.1:${port}` }
    },

    async dispose() {
      await stopAll()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Read the first line of a program's output as JSON. */
export async function readFirstLine(child) {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`ended with ${code} before it was ready: ${child.errors}`)
  })
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])
  ended.catch(() => {})
  return JSON.parse(line)
}

async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await ended
  clearTimeout(timer)
}

/** Below the ephemeral ports, so that no connection takes one before the program listens. Tests use ports from 20,000 on. */
const FIRST_PORT = 10_000
const PORT_COUNT = 10_000

/** Return a port without a listener. */
export async function findFreePort() {
  const port = FIRST_PORT + randomInt(PORT_COUNT)
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

/** Call `isReady` until it resolves to true; an error counts as false. */
export async function waitUntil(isReady, { what, child, everyMs = 5, timeoutMs = 600_000 }) {
  const deadlineMs = performance.now() + timeoutMs
  while (!(await isReady().catch(() => false))) {
    if (child.exitCode !== null) throw new Error(`${what}: the program ended: ${child.errors}`)
    if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${timeoutMs} ms`)
    await wait(everyMs)
  }
}

function describeMachine(node) {
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
  const packageFile = new URL('../../package.json', import.meta.url)
  return {
    node: version,
    vitrine: JSON.parse(readFileSync(packageFile, 'utf8')).version,
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    kernel: release(),
    load: loadavg()[0],
  }
}

function succeeds(command, args) {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
