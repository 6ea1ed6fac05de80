import { Command, CommanderError } from 'commander'
import { systemClock } from '../clock.ts'
import { type Environment, parseConfig } from '../config/parse-config.ts'
import { ConfigError, UsageError, VitrineError } from '../errors.ts'
import { createLogger } from '../logger.ts'
import { VERSION } from '../paths.ts'
import type { CommandContext, CommandIo, ExitCode } from './command.ts'

/** Exit codes of sysexits.h: wrong usage, wrong settings; 1 for everything else that went wrong. */
const EXIT_USAGE = 64
const EXIT_CONFIG = 78
const EXIT_FAILED = 1

/** Each command is loaded when it is run: `serve` starts without the others. */
type Run = (context: CommandContext) => Promise<ExitCode>
type ImportFlags = Readonly<{ channel?: string; network?: string; merchant?: string; format?: string }>

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

type Runner = (isJson: boolean | undefined, command: Run) => Promise<void>

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

function addCatalogCommands(catalog: Command, run: Runner): void {
  withJson(catalog.command('serve').description('runs the catalog service alone')).action((flags: JsonFlag) =>
    run(flags.json, async (context) => (await import('./catalog-serve.ts')).runCatalogServe(context)),
  )
  withJson(catalog.command('import').description('imports a feed into the catalog').argument('<file>'))
    .option('--channel <id>', 'the channel that the feed is for')
    .option('--network <name>', 'the network of every offer')
    .option('--merchant <name>', 'the merchant of every offer')
    .option(
      '--format <name>',
      'ndjson, google-xml, google-tsv, google-csv or awin-csv; default: as the file looks',
    )
    .action((file: string, flags: JsonFlag & ImportFlags) =>
      run(flags.json, async (context) =>
        (await import('./catalog-import.ts')).runCatalogImport(context, { ...flags, file }),
      ),
    )
  withJson(catalog.command('channels').description('lists the channels')).action((flags: JsonFlag) =>
    run(flags.json, async (context) => (await import('./catalog-channels.ts')).runCatalogChannels(context)),
  )
  const keys = catalog.command('keys').description('API keys of the catalog service')
  withJson(keys.command('list', { isDefault: true }).description('lists the keys')).action(
    (flags: JsonFlag) =>
      run(flags.json, async (context) =>
        (await import('./catalog-keys.ts')).runCatalogKeys(context, { action: 'list' }),
      ),
  )
  withJson(keys.command('add').description('makes a key and prints it once').argument('<name>')).action(
    (name: string, flags: JsonFlag) =>
      run(flags.json, async (context) =>
        (await import('./catalog-keys.ts')).runCatalogKeys(context, { action: 'add', name }),
      ),
  )
  withJson(keys.command('revoke').description('ends a key at once').argument('<id>')).action(
    (id: string, flags: JsonFlag) =>
      run(flags.json, async (context) =>
        (await import('./catalog-keys.ts')).runCatalogKeys(context, { action: 'revoke', id }),
      ),
  )
}

type JsonFlag = Readonly<{ json?: boolean }>

function withJson(command: Command): Command {
  return command.option('--json', 'results as JSON')
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
