#!/usr/bin/env node
import { SECOND_MS } from './clock.ts'
import { isRunByNpm, readEnvironment } from './config/env.ts'
import type { CommandIo } from './commands/command.ts'
import { runCommandLine } from './commands/program.ts'
import { createLogger } from './logger.ts'

/** A second Ctrl-C does not wait for anything. */
const EXIT_INTERRUPTED = 130
/** A bug: sysexits.h calls it an internal software error. */
const EXIT_SOFTWARE = 70

/** How often a process that npm started looks whether npm's shell is still there. */
const PARENT_LOOK_MS = 250

/** A stop takes no longer than this, whatever hangs. */
const STOP_WITHIN_MS: number = 9.5 * SECOND_MS

const stop = new AbortController()
let hasFailed = false

function stopFor(reason: string): void {
  stop.abort(reason)
  setTimeout(() => process.exit(hasFailed ? EXIT_SOFTWARE : (process.exitCode ?? 0)), STOP_WITHIN_MS).unref()
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(hasFailed ? EXIT_SOFTWARE : EXIT_INTERRUPTED)
    stopFor(signal)
  })
}

// After an error that nobody caught nothing is certain any more: it is logged, answers under way end, and so does the process.
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    createLogger({ level: 'fatal' }).fatal(
      { err: error, event },
      'an error that nobody caught: a bug; the process ends',
    )
    if (hasFailed) process.exit(EXIT_SOFTWARE)
    hasFailed = true
    process.exitCode = EXIT_SOFTWARE
    stopFor(event)
  })
}

// npm runs a script through a shell that hands no signal on: when that shell has gone, npm was told to stop.
if (isRunByNpm()) {
  const shell = process.ppid
  setInterval(() => process.ppid === shell || stop.signal.aborted || stopFor('npm'), PARENT_LOOK_MS).unref()
}

// Whoever reads the output may stop reading (`vitrine check | head -1`): the command then ends without a word.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

const io: CommandIo = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY,
  onHangUp: (listener) => void process.on('SIGHUP', listener),
  signal: stop.signal,
}

const code = await runCommandLine(process.argv.slice(2), readEnvironment, io)
process.exitCode = hasFailed ? EXIT_SOFTWARE : code
