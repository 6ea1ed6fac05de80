#!/usr/bin/env node
import { setPriority } from 'node:os'
import { isRunByNpm, readEnvironment } from './config/env.ts'
import { HOUR_MS } from './clock.ts'
import { createCommandIo } from './cli/command.ts'
import { runCommandLine } from './cli/program.ts'
import { createShutdown } from './lib/shutdown.ts'
import { createLogger } from './observability/logger.ts'

/** A second Ctrl-C does not wait for anything. */
const EXIT_INTERRUPTED = 130

/** How much lower than others the priority of a walk is. */
const NICENESS = 10

/** How often a process that npm started looks whether npm's shell is still there. */
const PARENT_POLL_MS = 250

// What serves until it is told to stop is done then, also where a slow reader has to be cut off.
if (process.argv.slice(2, 4).includes('serve')) process.exitCode = 0

// A walk beside a server gives way to it, as the server's own walks do.
if (process.argv.slice(2).includes('sync')) setPriority(NICENESS)

const shutdown = createShutdown((fields, message) => createLogger({ level: 'fatal' }).fatal(fields, message))

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (shutdown.signal.aborted) process.exit(shutdown.toExitCode(EXIT_INTERRUPTED))
    shutdown.begin(signal)
  })
}

// npm runs a script through a shell that hands no signal on: when that shell has gone, npm was told to stop.
if (isRunByNpm()) {
  const shell = process.ppid
  setInterval(
    () => process.ppid === shell || shutdown.signal.aborted || shutdown.begin('npm'),
    PARENT_POLL_MS,
  ).unref()
}

// Whoever reads the output may stop reading (`vitrine check | head -1`): the command then ends without a word.
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
})

// No wait of the clock keeps a process alive: without this, Node would end it in the middle of a command.
const keepAliveTimer = setInterval(() => {}, HOUR_MS)
const code = await runCommandLine(process.argv.slice(2), readEnvironment, io)
clearInterval(keepAliveTimer)
process.exitCode = shutdown.toExitCode(code)
