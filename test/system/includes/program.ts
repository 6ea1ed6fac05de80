import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'

/* oxlint-disable node/no-process-env -- where programs are, and whether they have to be there: the machine's, not settings */
const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
const ARE_REQUIRED = process.env['REQUIRE_PROGRAMS'] === '1'
/* oxlint-enable node/no-process-env */

/** Where a program is installed. */
export function findProgram(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

/**
 * Tests that need a program: skipped where it is not installed, so that the report shows it; failing where
 * `REQUIRE_PROGRAMS=1` says that everything has to be there.
 */
export function describeWithProgram(program: string, name: string, tests: () => void): void {
  const isMissing = findProgram(program) === undefined
  it.skipIf(isMissing && !ARE_REQUIRED)(`${name} - its program ${program} - is installed`, () => {
    expect(findProgram(program)).toBeDefined()
  })
  // oxlint-disable-next-line vitest/valid-title, vitest/valid-describe-callback -- both are the caller's
  describe.skipIf(isMissing)(name, tests)
}

/** A program that runs in the foreground until it is stopped. */
export type Running = Readonly<{ output(): string; stop(): Promise<void> }>

/** What to run, and the port that it opens. */
export type ProgramDetails = Readonly<{
  command: string
  args: readonly string[]
  port: number
  env?: Readonly<Record<string, string>>
}>

/** Starts a program in a process group of its own and waits until its port is open. */
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

/** Ports that no system hands out by itself: neither a server that takes any nor a visitor's connection gets one of them. */
const FIRST_PORT = 20_000
const PORTS = 12_000

/** Each process of tests has ports of its own, so that two never look up the same one; none is given twice by one process. */
const PORT_SHARES = 24
// oxlint-disable-next-line node/no-process-env -- which of the processes this is, in vitest's words
const SHARE = Number(process.env['VITEST_POOL_ID'] ?? 0) % PORT_SHARES
const givenPorts = new Set<number>()

/** A port of loopback that is free now, and stays so until a program opens it, and while that is started again. */
export async function findFreePort(): Promise<number> {
  const port = FIRST_PORT + SHARE * (PORTS / PORT_SHARES) + randomInt(PORTS / PORT_SHARES)
  if (givenPorts.has(port)) return findFreePort()
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return findFreePort()
  }
  givenPorts.add(port)
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

/** The whole group: some programs leave their children behind. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return
  signalGroup(child.pid, 'SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // It has ended by itself.
  }
}
