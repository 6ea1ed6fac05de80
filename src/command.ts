import type { Command } from 'commander'
import type { Clock } from './clock.ts'
import type { Config } from './config/config.ts'
import type { Secrets } from './config/secrets.ts'
import type { Logger } from './observability/logger.ts'
import type { Prompt } from './lib/prompt.ts'

/** Terminal codes that move to the start of the line and clear it. */
const CLEAR_LINE = '\r\u001b[2K'

export type CommandIo = ReturnType<typeof createCommandIo>

export function createCommandIo(
  io: Readonly<{
    out(line: string): void
    /** Write text to standard error without adding a line end. */
    err(text: string): void
    /** Whether standard error is a terminal, where a progress line can be redrawn. */
    isTerminal: boolean
    /** Add a listener for SIGHUP, which then does not end the process. */
    onHangUp(listener: () => void): void
    /** Aborts when the process has to stop; the reason is the name of the signal. */
    signal: AbortSignal
    /** Read answers from standard input. */
    openPrompt(): Prompt
  }>,
) {
  return {
    ...io,
    out: (line: string): void => io.out(replaceControlCharacters(line)),
    err: (line: string): void => io.err(`${replaceControlCharacters(line)}\n`),
    /** Redraw the progress line; an empty text clears it. Do nothing without a terminal. */
    drawProgress(line: string): void {
      if (io.isTerminal) io.err(`${CLEAR_LINE}${replaceControlCharacters(line)}`)
    },
  }
}

/** Replace control characters: names come from feeds and users and must not control the terminal. */
function replaceControlCharacters(line: string): string {
  return line.replace(/\p{Cc}/gu, '\ufffd')
}

export type CommandContext = Readonly<{
  config: Config
  secrets: Secrets
  logger: Logger
  clock: Clock
  io: CommandIo
  /** `--json`: print results as JSON instead of sentences. */
  isJson: boolean
}>

/** Exit code of the process: 0 success, 1 failure, 64 wrong usage, 78 invalid settings. */
export type ExitCode = number

/** Return an action for commander: `work` gets the settings, the arguments and the options. No exit code means 0. */
export type Runner = <Given extends unknown[]>(
  work: (context: CommandContext, ...args: Given) => Promise<ExitCode | void>,
) => (...args: Given) => Promise<void>

/** Append example command lines to the help of a command, and to each subcommand those that call it. */
export function addExamples(command: Command, path: string, lines: readonly string[]): void {
  if (lines.length > 0) command.addHelpText('after', `\nExamples:\n  ${lines.join('\n  ')}`)
  for (const child of command.commands) {
    const childPath = `${path} ${child.name()}`
    const ownLines = lines.filter((line) => line === childPath || line.startsWith(`${childPath} `))
    addExamples(child, childPath, ownLines)
  }
}

export function print(
  { io, isJson }: Pick<CommandContext, 'io' | 'isJson'>,
  value: unknown,
  lines: readonly string[],
): void {
  if (isJson) io.out(toTerminalSafeJson(value))
  else for (const line of lines) io.out(line)
}

/** Return JSON without terminal control characters: `JSON.stringify` does not escape U+007F to U+009F. */
function toTerminalSafeJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
