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

/** A program that does not end within this time after SIGTERM is killed. */
const STOP_TIMEOUT_MS = 15_000

/** What a scenario works with. @typedef {ReturnType<typeof createRun>} Run */

/**
 * One run of the bench: its options, the machine, and every program that it starts.
 * @param {{ rounds: number, seconds: number, products: number, node: string, database: string | null }} options
 */
export function createRun(options) {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-bench-'))
  const isPinned = availableParallelism() >= 2 && succeeds('taskset', ['--version'])
  /** @type {Set<import('node:child_process').ChildProcess>} */
  const running = new Set()

  /** @param {{ env?: Record<string, string>, cpu?: string | null }} [extra] `cpu`: the core that it is pinned to */
  function start(parameters, { env = {}, cpu = null } = {}) {
    const command = isPinned && cpu !== null ? ['taskset', '-c', cpu, options.node] : [options.node]
    const child = spawn(command[0], [...command.slice(1), ...parameters], {
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
    /** The client and the catalog have one core, the measured server another one. */
    cpu: { client: '0', server: '1' },
    say: (text) => process.stderr.write(`${text}\n`),
    start,
    stop,
    stopAll,

    /** Run a program to its end and return what it printed. */
    async runToEnd(parameters, extra) {
      const child = start(parameters, extra)
      let printed = ''
      child.stdout.setEncoding('utf8').on('data', (text) => (printed += text))
      const [code] = await once(child, 'close')
      if (code !== 0)
        throw new Error(`${parameters.join(' ')} ended with ${code}: ${child.errors || printed}`)
      return printed
    },

    /** Start a server of bench/peers/, which prints its port. */
    async startPeer(script, parameters = [], cpu = '1') {
      const path = fileURLToPath(new URL(`../peers/${script}`, import.meta.url))
      const child = start([path, ...parameters], { cpu })
      const { port } = await readFirstLine(child)
      return { child, pid: child.pid, origin: `http://127.0.0.1:${port}` }
    },

    async dispose() {
      await stopAll()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** The first line that a program prints, parsed as JSON. */
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

/** Ports that no system hands out by itself: no connection takes one before the program listens. Tests use 20,000 and up. */
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

/** Ask until `isReady` resolves to true; a failure counts as false. */
export async function waitUntil(isReady, { what, child, everyMs = 5, timeoutMs = 600_000 }) {
  const untilMs = performance.now() + timeoutMs
  while (!(await isReady().catch(() => false))) {
    if (child.exitCode !== null) throw new Error(`${what}: the program ended: ${child.errors}`)
    if (performance.now() > untilMs) throw new Error(`${what}: not within ${timeoutMs} ms`)
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

function succeeds(command, parameters) {
  try {
    execFileSync(command, parameters, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
