import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createCommandIo } from '../../src/command.ts'
import { runCommandLine } from '../../src/cli/program.ts'
import type { Environment } from '../../src/config/config.ts'
import { PACKAGE_FOLDER } from '../../src/lib/files.ts'
import { LONG_VISITOR_TIMEOUT } from '../helpers/built-server.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { createFakePrompt } from './fake-prompt.ts'
import { FAKE_KEY, type FakeCatalog, startFakeCatalog } from '../helpers/fake-catalog.ts'

/** Exit code and output of a command line. */
export type CommandResult = { code: number | null; out: string; err: string }

/** A command that takes longer hangs; it is killed and has no exit code. */
const KILL_TIMEOUT_MS = 120_000

const MAIN = join(PACKAGE_FOLDER, 'dist/main.js')

/** Create a folder that is removed after the test. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-cli-'))
  addCleanup(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Settings that store everything in one folder, and log little. */
export function makeSettings(folder: string, over: Environment = {}): Environment {
  return {
    VITRINE_DATABASE_URL: `sqlite:${join(folder, 'copy.db')}`,
    VITRINE_CATALOG_DATABASE_URL: `sqlite:${join(folder, 'catalog.db')}`,
    VITRINE_LOG_LEVEL: 'silent',
    VITRINE_PORT: '0',
    ...over,
  }
}

/** Start a fake catalog that is closed after the test; return it with the settings that point to it. */
export async function startRemoteCatalog(
  folder: string,
): Promise<{ catalog: FakeCatalog; settings: Environment }> {
  const catalog = await startFakeCatalog()
  addCleanup(() => catalog.close())
  const remote = { VITRINE_CATALOG_URL: catalog.url, VITRINE_CATALOG_KEY: FAKE_KEY }
  return { catalog, settings: makeSettings(folder, remote) }
}

/** Run a command line in this process. */
export async function runInProcess(
  args: readonly string[],
  environment: Environment = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<CommandResult> {
  const out: string[] = []
  let err = ''
  const io = createCommandIo({
    out: (line) => void out.push(line),
    err: (text) => void (err += text),
    isTerminal: false,
    onHangUp: () => undefined,
    signal,
    openPrompt: () => createFakePrompt([]),
  })
  const code = await runCommandLine(args, () => environment, io)
  return { code, out: out.join('\n'), err }
}

/** Run the built command line to its end. */
export function runBuilt(
  args: readonly string[],
  environment: Environment,
  cwd?: string,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const options = { env: toEnv(environment), cwd, timeout: KILL_TIMEOUT_MS, killSignal: 'SIGKILL' } as const
    const child = execFile(process.execPath, [MAIN, ...args], options, (_error, out, err) =>
      resolve({ code: child.exitCode, out, err }),
    )
  })
}

/** A built command that runs until it is stopped. */
export type RunningCommand = {
  child: ChildProcess
  /** The first line on standard output. */
  firstLine: Promise<string>
  /** All standard output and error so far. */
  output(): string
  /** Send the signal and wait for the end. A server that needs more than 9.5 s is killed, with another code than 0. */
  stop(signal: NodeJS.Signals): Promise<{ code: number | null }>
}

/**
 * Start the built command line; it is killed after the test if it still runs. `isInShell`: as npm does, in a shell that
 * receives the signals and does not forward them.
 */
export function startBuilt(
  args: readonly string[],
  environment: Environment,
  { isInShell = false }: Readonly<{ isInShell?: boolean }> = {},
): RunningCommand {
  const command = [process.execPath, MAIN, ...args]
  const [program = '', ...programArgs] = isInShell ? ['sh', '-c', '"$@"; exit $?', 'sh', ...command] : command
  const env = toEnv({ ...LONG_VISITOR_TIMEOUT, ...environment })
  const child = spawn(program, programArgs, { env, detached: true })
  addCleanup(() => killGroup(child.pid))
  let output = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  child.stderr.on('data', (chunk) => (output += String(chunk)))
  const ended = once(child, 'exit') as Promise<[number | null]>
  // The last output can arrive after the exit.
  const closed = once(child, 'close')
  const lines = createInterface({ input: child.stdout })
  const firstLine = Promise.race([
    once(lines, 'line').then(([line]) => String(line)),
    ended.then(([code]) => {
      throw new Error(`ended with ${code} before any output: ${output}`)
    }),
  ])
  firstLine.catch(() => {})
  return {
    child,
    firstLine,
    output: () => output,
    async stop(signal) {
      child.kill(signal)
      const [code] = await ended
      await closed
      return { code }
    },
  }
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

function toEnv(environment: Environment): Record<string, string> {
  const entries = Object.entries(environment).filter(([, text]) => text !== undefined)
  return Object.fromEntries(entries) as Record<string, string>
}
