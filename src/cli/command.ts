import type { Command } from 'commander'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Secrets } from '../config/secrets.ts'
import type { Logger } from '../observability/logger.ts'

/** Where a command speaks: results on standard output, progress and logs on standard error. */
export type CommandIo = Readonly<{
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
}>

/** What every command is given. */
export type CommandContext = Readonly<{
  config: Config
  secrets: Secrets
  logger: Logger
  clock: Clock
  io: CommandIo
  /** `--json`: results as JSON on standard output instead of sentences. */
  json: boolean
}>

/** The exit code of the process: 0 done, 1 something is wrong, 64 wrong usage, 78 wrong settings. */
export type ExitCode = number

/** Makes an action of commander: `work` gets the settings, then the arguments and options. No exit code means 0. */
export type Runner = <Given extends unknown[]>(
  work: (context: CommandContext, ...given: Given) => Promise<ExitCode | void>,
) => (...given: Given) => Promise<void>

/** Put command lines at the end of the help of a command; a subcommand gets those that call it. */
export function addExamples(command: Command, path: string, lines: readonly string[]): void {
  if (lines.length > 0) command.addHelpText('after', `\nExamples:\n  ${lines.join('\n  ')}`)
  for (const child of command.commands) {
    const childPath = `${path} ${child.name()}`
    const own = lines.filter((line) => line === childPath || line.startsWith(`${childPath} `))
    addExamples(child, childPath, own)
  }
}
