import { Command, CommanderError } from 'commander'
import { systemClock } from '../clock.ts'
import { type Environment, parseConfig } from '../config/config.ts'
import { ConfigError, StoreError, UsageError, VitrineError } from '../errors.ts'
import { VERSION } from '../lib/paths.ts'
import { createLogger } from '../observability/logger.ts'
import { type CommandIo, type ExitCode, type Runner, addExamples } from './command.ts'
import type { ExplainArguments } from './explain.ts'

/** Exit codes of sysexits.h: wrong usage, wrong settings; 1 for everything else that went wrong. */
const EXIT_USAGE = 64
const EXIT_CONFIG = 78
const EXIT_FAILED = 1

/**
 * Reads a command line and runs its one command. Never throws for what a user or a machine did wrong: that is said on
 * standard error, and by the exit code.
 */
export async function runCommandLine(
  args: readonly string[],
  readEnvironment: () => Environment,
  io: CommandIo,
): Promise<ExitCode> {
  let code: ExitCode = 0
  const run: Runner =
    (work) =>
    async (...args) => {
      const command = args.at(-1) as Command
      const { config, secrets } = parseConfig(readEnvironment())
      const logger = createLogger({ level: config.logLevel })
      const isJson = command.optsWithGlobals<{ json?: boolean }>().json === true
      code = (await work({ config, secrets, logger, clock: systemClock, io, isJson }, ...args)) ?? 0
    }
  try {
    const program = createProgram(run, io)
    const catalog = program.command('catalog').description('the embedded catalog service')
    // Starting the server loads nothing of the catalog's commands.
    if (args.includes('catalog')) (await import('./catalog/program.ts')).addCatalogCommands(catalog, run)
    addHelpPointer(program, program.name(), io)
    await program.parseAsync(insertListSubcommand(program, args), { from: 'user' })
    return code
  } catch (error) {
    return reportError(error, io)
  }
}

function createProgram(run: Runner, io: CommandIo): Command {
  const program = new Command('vitrine')
    .description('Where-to-buy boxes and deal grids for publishers, rendered on the server.')
    .version(VERSION, '--version', 'prints the version')
    .option('--json', 'results as JSON')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => printLines(text, io.out),
      writeErr: (text) => printLines(text, io.err),
    })
  program
    .command('serve')
    .description('runs the server')
    .action(run(async (context) => (await import('./serve.ts')).runServe(context)))
  program
    .command('sync')
    .description('walks the catalog now')
    .option('--channel <id>', 'only this channel', (id) => id.toLowerCase())
    .option(
      '--accept',
      'accept what the walk finds, even if it leaves few products or no channels; waits for a walk under way',
    )
    .action(
      run(async (context, flags: Readonly<{ channel?: string; accept?: boolean }>) =>
        (await import('./sync.ts')).runSync(context, flags),
      ),
    )
  program
    .command('check')
    .description('tries settings, database, catalog, key and channels')
    .action(run(async (context) => (await import('./check.ts')).runCheck(context)))
  program
    .command('explain')
    .description('says why a box shows what it shows, or nothing')
    .argument('<channel>', 'id of the channel')
    .argument('<gtin>', 'GTIN of the product')
    .argument('[options...]', 'options of the box as in its address: stock=in merchant=NAME')
    .option('--no-call', 'asks the catalog nothing')
    .action(
      run(async (context, ...args: ExplainArguments) =>
        (await import('./explain.ts')).runExplain(context, ...args),
      ),
    )
  program
    .command('backup')
    .description('copies the SQLite databases while the server runs')
    .argument('<file>', 'where the stored copy goes; the catalog goes beside it, with a suffix')
    .action(run(async (context, file: string) => (await import('./backup.ts')).runBackup(context, file)))
  addExamples(program, 'vitrine', [
    'vitrine explain 952a0000-0000-4000-8000-000000000001 09520001001024',
    'vitrine explain 952a0000-0000-4000-8000-000000000001 09520001001024 stock=in "merchant=Kiln & Kettle"',
    "vitrine explain 952a0000-0000-4000-8000-000000000001 09520001001024 '?stock=in&currency=SEK'",
    'vitrine backup backups/monday.db',
  ])
  return program
}

/** `vitrine catalog keys` alone, or with options, is `vitrine catalog keys list`. */
function insertListSubcommand(program: Command, args: readonly string[]): readonly string[] {
  const [catalog, name, next] = args
  const subcommands =
    program.commands
      .find((command) => command.name() === catalog)
      ?.commands.find((command) => command.name() === name)?.commands ?? []
  const hasSubcommand = next !== undefined && (!next.startsWith('-') || next === '--help' || next === '-h')
  if (subcommands.length === 0 || hasSubcommand) return args
  return [...args.slice(0, 2), 'list', ...args.slice(2)]
}

function printLines(text: string, print: (line: string) => void): void {
  for (const line of text.trimEnd().split('\n')) print(line)
}

/** Errors have one form, and point to the help that is nearest: of the command that could not go on. */
function addHelpPointer(command: Command, path: string, io: CommandIo): void {
  command.configureOutput({
    outputError(text) {
      const message = text
        .replace(/^error: /, '')
        .replace(/\s*\(Did you mean (.*)\?\)\s*$/, '; did you mean $1?')
        .trim()
        .replace(/\.$/, '')
      io.err(
        `vitrine: ${message}${message.endsWith('?') ? '' : ';'} see "${path} --help" (${UsageError.code})`,
      )
    },
  })
  for (const child of command.commands) addHelpPointer(child, `${path} ${child.name()}`, io)
}

/** Say what went wrong, where commander has not, and return the exit code. */
function reportError(error: unknown, io: CommandIo): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
  if (!(error instanceof VitrineError)) throw error
  const remedy = error instanceof StoreError && error.remedy !== null ? `. ${error.remedy}` : ''
  const message = `vitrine: ${error.message}${remedy} (${error.code})`
  // Settings are told line by line; what is in any other message may be of a feed.
  if (error instanceof ConfigError) {
    printLines(message, io.err)
    return EXIT_CONFIG
  }
  io.err(message)
  return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED
}
