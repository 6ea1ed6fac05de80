#!/usr/bin/env node
import { readEnvironment } from './config/env.ts'
import type { CommandIo } from './commands/command.ts'
import { runCommandLine } from './commands/program.ts'

/** A second Ctrl-C does not wait for anything. */
const EXIT_INTERRUPTED = 130

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(EXIT_INTERRUPTED)
    stop.abort()
  })
}

const io: CommandIo = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (text) => void process.stderr.write(text),
  isTerminal: process.stderr.isTTY,
  onHangUp: (listener) => void process.on('SIGHUP', listener),
  signal: stop.signal,
}

process.exitCode = await runCommandLine(process.argv.slice(2), readEnvironment(), io)
