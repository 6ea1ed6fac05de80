#!/usr/bin/env node
import { setPriority } from 'node:os'
import { isRunByNpm, readEnvironment } from './config/env.ts'
import { HOUR_MS } from './clock.ts'
import { createCommandIo } from './command.ts'
import { openPrompt } from './lib/prompt.ts'
import { runCommandLine } from './cli/program.ts'
import { createShutdown } from './lib/shutdown.ts'
import { createLogger } from './observability/logger.ts'

/** Exit code after a second Ctrl-C, which ends the process at once. */
const EXIT_INTERRUPTED = 130

/** The `nice` value of a walk. */
const NICENESS = 10

/** How often a process that npm started checks that npm still runs. */
const PARENT_POLL_MS = 250

// A stopped server has succeeded, even when it had to close connections.
if (process.argv.slice(2, 4).includes('serve')) process.exitCode = 0

// Like a server's own walks, `sync` has a lower priority than the server beside it.
if (process.argv.slice(2).includes('sync')) setPriority(NICENESS)

const shutdown = createShutdown((fields, message) => createLogger({ level: 'fatal' }).fatal(fields, message))

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (shutdown.signal.aborted) process.exit(shutdown.toExitCode(EXIT_INTERRUPTED))
    shutdown.begin(signal)
  })
}

// npm runs scripts through a shell that forwards no signals: when that shell has exited, npm was stopped.
if (isRunByNpm()) {
  const shell = process.ppid
  setInterval(
    () => process.ppid === shell || shutdown.signal.aborted || shutdown.begin('npm'),
    PARENT_POLL_MS,
  ).unref()
}

// Ignore EPIPE: the reader of the output may close it (`vitrine check | head -1`).
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

const io = createCommandIo({
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY,
  onHangUp: (listener) => void process.on('SIGHUP', listener),
  signal: shutdown.signal,
  openPrompt: () =>
    openPrompt({
      input: process.stdin,
      output: process.stderr,
      signal: shutdown.signal,
      onInterrupt: () => shutdown.begin('SIGINT'),
    }),
})

// The clock's timers do not keep the process alive: without this one, Node would exit in the middle of a command.
const keepAliveTimer = setInterval(() => {}, HOUR_MS)
const code = await runCommandLine(process.argv.slice(2), readEnvironment, io)
clearInterval(keepAliveTimer)
process.exitCode = shutdown.toExitCode(code)
