import { Command, CommanderError } from 'commander'
import { systemClock } from '../clock.ts'
import { type Environment, parseConfig } from '../config/parse-config.ts'
import { ConfigError, UsageError, VitrineError } from '../errors.ts'
import { createLogger } from '../logger.ts'
import { VERSION } from '../paths.ts'
import { addCatalogCommands } from './catalog-program.ts'
import type { CommandContext, CommandIo, ExitCode } from './command.ts'
import { type JsonFlag, type Run, type Runner, withJson } from './declare.ts'

/** Exit codes of sysexits.h: wrong usage, wrong settings; 1 for everything else that went wrong. */
const EXIT_USAGE = 64
const EXIT_CONFIG = 78
const EXIT_FAILED = 1

/**
 * Reads a command line and runs its one command. Never throws for what a user or a machine did wrong: that is said on
 * standard error, and by the exit code.
 */
export async function runCommandLine(
  words: readonly string[],
  readEnvironment: () => Environment,
  io: CommandIo,
): Promise<ExitCode> {
  let code: ExitCode = 0
  const run = async (isJson: boolean | undefined, command: Run): Promise<void> => {
    code = await command(createCommandContext(readEnvironment(), io, isJson ?? false))
  }
  try {
    await createProgram(run, io).parseAsync([...words], { from: 'user' })
    return code
  } catch (error) {
    return explain(error, io)
  }
}

/** What commander says of a wrong command line, in the one form of all errors. */
function toUsageText(text: string): string {
  const said = text
    .replace(/^error: /, '')
    .trim()
    .replace(/\.$/, '')
  return `vitrine: ${said}; "vitrine help" lists the commands (${new UsageError('').code})\n`
}

function createProgram(run: Runner, io: CommandIo): Command {
  const program = new Command('vitrine')
    .description('Where-to-buy boxes and deal grids for publishers, rendered on the server.')
    .version(VERSION, '--version', 'prints the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text),
      outputError: (text, write) => write(toUsageText(text)),
    })
  addOwnCommands(program, run)
  addCatalogCommands(program.command('catalog').description('the embedded catalog service'), run)
  return program
}

function addOwnCommands(program: Command, run: Runner): void {
  withJson(program.command('serve').description('runs the server')).action((flags: JsonFlag) =>
    run(flags.json, async (context) => (await import('./serve.ts')).runServe(context)),
  )
  withJson(program.command('sync').description('walks the catalog now'))
    .option('--channel <id>', 'only this channel')
    .action((flags: JsonFlag & { channel?: string }) =>
      run(flags.json, async (context) =>
        (await import('./sync.ts')).runSync(context, { channel: flags.channel ?? null }),
      ),
    )
  withJson(
    program.command('check').description('tries settings, database, catalog, key and channels'),
  ).action((flags: JsonFlag) =>
    run(flags.json, async (context) => (await import('./check.ts')).runCheck(context)),
  )
}

function createCommandContext(environment: Environment, io: CommandIo, json: boolean): CommandContext {
  const { config, secrets } = parseConfig(environment)
  return { config, secrets, logger: createLogger({ level: config.logLevel }), clock: systemClock, io, json }
}

function explain(error: unknown, io: CommandIo): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
  if (!(error instanceof VitrineError)) throw error
  io.err(`vitrine: ${error.message} (${error.code})\n`)
  if (error instanceof ConfigError) return EXIT_CONFIG
  return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED
}
