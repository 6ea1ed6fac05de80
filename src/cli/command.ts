import type { Command } from 'commander'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Secrets } from '../config/secrets.ts'
import type { Logger } from '../observability/logger.ts'

/** Moves to the start of the line and empties it. */
const CLEAR_LINE = '\r\u001b[2K'

/** Where a command speaks: results on standard output, progress and logs on standard error. */
export type CommandIo = ReturnType<typeof createCommandIo>

/** Make what a process gives into what a command uses. */
export function createCommandIo(
  io: Readonly<{
    /** Writes one line to standard output. */
    out(line: string): void
    /** Writes text to standard error as it is, without a line end. */
    err(text: string): void
    /** Is standard error a terminal? Then a progress line may be drawn over itself. */
    isTerminal: boolean
    /** Calls back on SIGHUP, which keeps the process. */
    onHangUp(listener: () => void): void
    /** Aborts when the process was told to stop; the reason is the name of the signal that did. */
    signal: AbortSignal
  }>,
) {
  return {
    ...io,
    out: (line: string): void => io.out(replaceControlCharacters(line)),
    /** Writes one line to standard error. */
    err: (line: string): void => io.err(`${replaceControlCharacters(line)}\n`),
    /** Draws a line of progress over the one before; an empty one removes it. Does nothing where there is no terminal. */
    drawProgress(line: string): void {
      if (io.isTerminal) io.err(`${CLEAR_LINE}${replaceControlCharacters(line)}`)
    },
  }
}

/** Replace control characters: names come from feeds and users, and must not move the cursor of a terminal. */
function replaceControlCharacters(line: string): string {
  return line.replace(/\p{Cc}/gu, '\ufffd')
}

/** What every command is given. */
export type CommandContext = Readonly<{
  config: Config
  secrets: Secrets
  logger: Logger
  clock: Clock
  io: CommandIo
  /** `--json`: results as JSON on standard output instead of sentences. */
  isJson: boolean
}>

/** The exit code of the process: 0 done, 1 something is wrong, 64 wrong usage, 78 wrong settings. */
export type ExitCode = number

/** Makes an action of commander: `work` gets the settings, then the arguments and options. No exit code means 0. */
export type Runner = <Given extends unknown[]>(
  work: (context: CommandContext, ...args: Given) => Promise<ExitCode | void>,
) => (...args: Given) => Promise<void>

/** Put command lines at the end of the help of a command; a subcommand gets those that call it. */
export function addExamples(command: Command, path: string, lines: readonly string[]): void {
  if (lines.length > 0) command.addHelpText('after', `\nExamples:\n  ${lines.join('\n  ')}`)
  for (const child of command.commands) {
    const childPath = `${path} ${child.name()}`
    const ownLines = lines.filter((line) => line === childPath || line.startsWith(`${childPath} `))
    addExamples(child, childPath, ownLines)
  }
}

/** Print what a command found or did: `value` for scripts, `lines` for people. */
export function print({ io, isJson }: CommandContext, value: unknown, lines: readonly string[]): void {
  if (isJson) io.out(toTerminalSafeJson(value))
  else for (const line of lines) io.out(line)
}

/** JSON without control characters that a terminal obeys: `JSON.stringify` leaves U+007F to U+009F as they are. */
function toTerminalSafeJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
