import { Command, CommanderError, Option } from 'commander'
import { systemClock } from '../clock.ts'
import { type Environment, parseConfig } from '../config/config.ts'
import { ConfigError, UsageError, VitrineError } from '../errors.ts'
import { VERSION } from '../lib/files.ts'
import { createLogger } from '../observability/logger.ts'
import { type CommandIo, type ExitCode, type Runner, addExamples } from '../command.ts'
import type { ExplainArguments } from './explain.ts'
import type { InitOptions } from './init.ts'
import { SETUPS } from './init/answers.ts'
import type { MoveOptions } from './move.ts'
import { checkProcessLimits } from '../lib/process-limits.ts'
import type { ReportList, ReportOptions } from './report.ts'

/** Exit codes of sysexits.h for wrong usage and invalid settings, and 1 for every other failure. */
const EXIT_USAGE = 64
const EXIT_CONFIG = 78
const EXIT_FAILED = 1

/** Run a command line. Print user errors and failures to standard error and return an exit code; throw only for bugs. */
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
    const program = createProgram(run, io, async (options, command) => {
      const isJson = command.optsWithGlobals<{ json?: boolean }>().json === true
      const context = { io, isJson, environment: readEnvironment(), folder: '' }
      await (await import('./init.ts')).runInit(context, options)
    })
    const catalog = program.command('catalog').description('run and manage the catalog service')
    // Load the catalog commands only when they are used, so that the server starts faster.
    if (args.includes('catalog'))
      (await import('../catalog-service/commands/program.ts')).addCatalogCommands(catalog, run)
    addHelpPointer(program, program.name(), io)
    await program.parseAsync(insertListSubcommand(program, args), { from: 'user' })
    return code
  } catch (error) {
    return reportError(error, io)
  }
}

/** Runs `init`, which reads no settings, because it writes them. */
type InitAction = (options: InitOptions, command: Command) => Promise<void>

function createProgram(run: Runner, io: CommandIo, init: InitAction): Command {
  const program = new Command('vitrine')
    .description('Where-to-buy boxes and deal grids for publishers, rendered on the server.')
    .version(VERSION, '--version', 'print the version')
    .option('--json', 'print results as JSON')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => printLines(text, io.out),
      writeErr: (text) => printLines(text, io.err),
    })
  program
    .command('init')
    .description('write .env, and files for systemd or Docker Compose, from your answers to questions')
    .option('--yes', 'give the default answers; settings in the environment are the defaults')
    .addOption(new Option('--setup <what>', 'what to write, without the question').choices(SETUPS))
    .action(init)
  program
    .command('serve')
    .description('run the widget server')
    .action(
      run(async (context) => {
        // Before modules are loaded, which too few open files make impossible.
        checkProcessLimits()
        return (await import('./serve.ts')).runServe(context)
      }),
    )
  program
    .command('sync')
    .description('walk the catalog now')
    .option('--channel <id>', 'walk only this channel', (id) => id.toLowerCase())
    .option(
      '--accept',
      'accept the result even if it has few products or no channels; wait for a walk in progress',
    )
    .action(
      run(async (context, flags: Readonly<{ channel?: string; accept?: boolean }>) =>
        (await import('./sync.ts')).runSync(context, flags),
      ),
    )
  program
    .command('check')
    .description('check settings, database, catalog, key and channels')
    .action(run(async (context) => (await import('./check.ts')).runCheck(context)))
  program
    .command('explain')
    .description('explain what a box shows and why')
    .argument('<channel>', 'id of the channel')
    .argument('<gtin>', 'GTIN of the product, or several of its variants separated by "~"')
    .argument('[options...]', 'options of the box as in its address, for example stock=in merchant=NAME')
    .option('--no-call', 'do not call the catalog')
    .action(
      run(async (context, ...args: ExplainArguments) =>
        (await import('./explain.ts')).runExplain(context, ...args),
      ),
    )
  addDatabases(program, run)
  addHistory(program, run)
  addReport(program, run)
  addExamples(program, 'vitrine', [
    'vitrine init',
    'vitrine init --yes --setup systemd',
    'vitrine explain 952a0000-0000-4000-8000-000000000001 09520001001024',
    'vitrine explain 952a0000-0000-4000-8000-000000000001 09520001001024 stock=in "merchant=Kiln & Kettle"',
    "vitrine explain 952a0000-0000-4000-8000-000000000001 09520001001024 '?stock=in&currency=SEK'",
    'vitrine backup backups/monday.db',
    'vitrine move',
    'vitrine move --from backups/monday.db --catalog-from backups/monday-catalog.db',
    'vitrine history export --output prices.csv',
    'vitrine history import prices.csv',
    'vitrine report',
    'vitrine report --days 30 --list clicks --csv',
  ])
  return program
}

function addDatabases(program: Command, run: Runner): void {
  program
    .command('backup')
    .description('copy the SQLite databases while the server runs')
    .argument('<file>', 'file for the stored copy; the catalog is copied beside it, with a suffix')
    .action(run(async (context, file: string) => (await import('./backup.ts')).runBackup(context, file)))
  program
    .command('move')
    .description('move SQLite databases to the PostgreSQL databases of the settings; repeat it to go on')
    .option('--from <file>', 'SQLite file of the stored copy (default: data/vitrine.db)')
    .option('--catalog-from <file>', 'SQLite file of the catalog (default: data/catalog.db)')
    .action(
      run(async (context, options: MoveOptions) => (await import('./move.ts')).runMove(context, options)),
    )
}

function addHistory(program: Command, run: Runner): void {
  const history = program.command('history').description('export and import observed prices as CSV')
  history
    .command('export')
    .description(
      'write the observed prices of all channels, one row for each run of days with the same prices',
    )
    .option('--channel <id>', 'write only this channel', (id) => id.toLowerCase())
    .option('--output <file>', 'write to a file, which is replaced when it is complete')
    .action(
      run(async (context, options: Readonly<{ channel?: string; output?: string }>) =>
        (await import('./history.ts')).runHistoryExport(context, options),
      ),
    )
  history
    .command('import')
    .description('import observed prices; they never replace what this server has observed itself')
    .argument('<file>', 'CSV file of an export, optionally compressed with gzip')
    .action(
      run(async (context, file: string) => (await import('./history.ts')).runHistoryImport(context, file)),
    )
}

function addReport(program: Command, run: Runner): void {
  const lists = ['problems', 'products', 'placements', 'clicks'] as const satisfies readonly ReportList[]
  program
    .command('report')
    .description('list products that pages ask for and that are hidden, sold out or down to one shop')
    .option('--channel <id>', 'report only this channel', (id) => id.toLowerCase())
    .option('--days <number>', 'count the last days, until today (UTC)', '7')
    .addOption(
      new Option(
        '--list <what>',
        'what to list: products with problems, all products, placements by sub-id, or clicks by merchant and sub-id',
      )
        .choices(lists)
        .default('problems'),
    )
    .option('--csv', 'print the list as CSV')
    .action(
      run(async (context, options: ReportOptions) =>
        (await import('./report.ts')).runReport(context, options),
      ),
    )
}

/** Treat `vitrine catalog keys`, also with options, as `vitrine catalog keys list`. */
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

/** Print commander's errors in one form, with a pointer to the help of the command that failed. */
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

function reportError(error: unknown, io: CommandIo): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
  if (!(error instanceof VitrineError)) throw error
  const message = `vitrine: ${error.describeWithRemedy()} (${error.code})`
  // Only messages about settings may have several lines: others may contain text of a feed.
  if (error instanceof ConfigError) {
    printLines(message, io.err)
    return EXIT_CONFIG
  }
  io.err(message)
  return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED
}
