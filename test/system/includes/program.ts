import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'

/* oxlint-disable node/no-process-env -- properties of the machine, not settings */
const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
const ARE_REQUIRED = process.env['REQUIRE_PROGRAMS'] === '1'
/* oxlint-enable node/no-process-env */

export function findProgram(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

/**
 * Define tests that need a program. Without the program they are skipped, or fail with `REQUIRE_PROGRAMS=1`.
 */
export function describeWithProgram(program: string, name: string, tests: () => void): void {
  const isMissing = findProgram(program) === undefined
  it.skipIf(isMissing && !ARE_REQUIRED)(`${name} - the program ${program} - is installed`, () => {
    expect(findProgram(program)).toBeDefined()
  })
  // oxlint-disable-next-line vitest/valid-title, vitest/valid-describe-callback -- the caller passes both
  describe.skipIf(isMissing)(name, tests)
}

export type Running = Readonly<{ output(): string; stop(): Promise<void> }>

export type ProgramDetails = Readonly<{
  command: string
  args: readonly string[]
  port: number
  env?: Readonly<Record<string, string>>
}>

/** Start a program in its own process group and wait until its port is open. */
export async function startProgram(details: ProgramDetails): Promise<Running> {
  const child = spawn(findProgram(details.command) ?? details.command, details.args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: FOLDERS.join(delimiter), ...details.env },
  })
  let output = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  child.stderr.on('data', (chunk) => (output += String(chunk)))
  const running = { output: () => output, stop: () => stop(child) }
  try {
    await vi.waitFor(
      async () => {
        if (child.exitCode !== null) return
        await connectOnce(details.port)
      },
      { interval: 20 },
    )
  } catch (error) {
    await running.stop()
    throw new Error(`${details.command} did not open its port: ${output}`, { cause: error })
  }
  if (child.exitCode !== null) throw new Error(`${details.command} did not start: ${output}`)
  return running
}

/** Ports outside the ephemeral range, so that the system assigns none of them. */
const FIRST_PORT = 20_000
const PORTS = 12_000

/** Each test process has its own range of ports and uses each port once. */
const PORT_SHARES = 24
// oxlint-disable-next-line node/no-process-env -- vitest's number of this process
const SHARE = Number(process.env['VITEST_POOL_ID'] ?? 0) % PORT_SHARES
const usedPorts = new Set<number>()

/** Return a free loopback port that no other test process uses, also while a program restarts. */
export async function findFreePort(): Promise<number> {
  const port = FIRST_PORT + SHARE * (PORTS / PORT_SHARES) + randomInt(PORTS / PORT_SHARES)
  if (usedPorts.has(port)) return findFreePort()
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return findFreePort()
  }
  usedPorts.add(port)
  server.close()
  await once(server, 'close')
  return port
}

async function connectOnce(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}

/** Kill the whole process group, because some programs leave their children running. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return
  signalGroup(child.pid, 'SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // The process has already ended.
  }
}
