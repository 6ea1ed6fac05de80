import { Command, CommanderError } from 'commander'
import { systemClock } from '../clock.ts'
import { type Environment, parseConfig } from '../config/config.ts'
import { ConfigError, StoreError, UsageError, VitrineError } from '../errors.ts'
import { createLogger } from '../observability/logger.ts'
import { VERSION } from '../lib/paths.ts'
import { addCatalogCommands } from './catalog/program.ts'
import type { CommandContext, CommandIo, ExitCode } from './command.ts'
import { type JsonFlag, type Run, type Runner, addExamples, withJson } from './declare.ts'
import { toPlain, toPlainLines } from './plain-text.ts'

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

/** What commander says of a wrong command line, in the one form of all errors; `path` is the command that said it. */
function toUsageText(text: string, path: string): string {
  const said = text
    .replace(/^error: /, '')
    .replace(/\s*\(Did you mean (.*)\?\)\s*$/, '; did you mean $1?')
    .trim()
    .replace(/\.$/, '')
  return `vitrine: ${toPlain(said)}${said.endsWith('?') ? '' : ';'} see "${path} --help" (${UsageError.code})\n`
}

/** Errors point to the help that is nearest: of the command that could not go on. */
function pointToHelp(command: Command, path: string): void {
  command.configureOutput({ outputError: (text, write) => write(toUsageText(text, path)) })
  for (const child of command.commands) pointToHelp(child, `${path} ${child.name()}`)
}

function createProgram(run: Runner, io: CommandIo): Command {
  const program = new Command('vitrine')
    .description('Where-to-buy boxes and deal grids for publishers, rendered on the server.')
    .version(VERSION, '--version', 'prints the version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text),
    })
  addOwnCommands(program, run)
  addCatalogCommands(program.command('catalog').description('the embedded catalog service'), run)
  pointToHelp(program, program.name())
  return program
}

function addOwnCommands(program: Command, run: Runner): void {
  withJson(program.command('serve').description('runs the server')).action((flags: JsonFlag) =>
    run(flags.json, async (context) => (await import('./serve.ts')).runServe(context)),
  )
  withJson(program.command('sync').description('walks the catalog now'))
    .option('--channel <id>', 'only this channel')
    .option(
      '--accept',
      'accept what the walk finds, even if it leaves few products or no channels; waits for a walk under way',
    )
    .action((flags: JsonFlag & { channel?: string; accept?: boolean }) =>
      run(flags.json, async (context) =>
        (await import('./sync.ts')).runSync(context, {
          channel: flags.channel ?? null,
          isAccepted: flags.accept ?? false,
        }),
      ),
    )
  withJson(
    program.command('check').description('tries settings, database, catalog, key and channels'),
  ).action((flags: JsonFlag) =>
    run(flags.json, async (context) => (await import('./check.ts')).runCheck(context)),
  )
  addExplain(program, run)
  const backup = program
    .command('backup')
    .description('copies the SQLite databases while the server runs')
    .argument('<file>', 'where the stored copy goes; the catalog goes beside it, with a suffix')
  withJson(backup).action((file: string, flags: JsonFlag) =>
    run(flags.json, async (context) => (await import('./backup.ts')).runBackup(context, file)),
  )
  addExamples(backup, 'vitrine backup', ['backups/monday.db'])
}

function addExplain(program: Command, run: Runner): void {
  const explain = program
    .command('explain')
    .description('says why a box shows what it shows, or nothing')
    .argument('<channel>', 'id of the channel')
    .argument('<gtin>', 'GTIN of the product')
    .argument('[options...]', 'options of the box as in its address: stock=in merchant=NAME')
    .option('--no-call', 'asks the catalog nothing')
  withJson(explain).action((channel: string, gtin: string, options: string[]) => {
    const { json, call } = explain.opts<JsonFlag & { call: boolean }>()
    return run(json, async (context) =>
      (await import('./explain.ts')).runExplain(context, { channel, gtin, options, mayCall: call }),
    )
  })
  addExamples(explain, 'vitrine explain', [
    '952a0000-0000-4000-8000-000000000001 09520001001024',
    '952a0000-0000-4000-8000-000000000001 09520001001024 stock=in "merchant=Kiln & Kettle"',
    "952a0000-0000-4000-8000-000000000001 09520001001024 '?stock=in&currency=SEK'",
  ])
}

function createCommandContext(environment: Environment, io: CommandIo, json: boolean): CommandContext {
  const { config, secrets } = parseConfig(environment)
  return { config, secrets, logger: createLogger({ level: config.logLevel }), clock: systemClock, io, json }
}

function withRemedy(error: VitrineError): string {
  return error instanceof StoreError && error.remedy !== null
    ? `${error.message}. ${error.remedy}`
    : error.message
}

function explain(error: unknown, io: CommandIo): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE
  if (!(error instanceof VitrineError)) throw error
  // Settings are told line by line; what is in any other message may be of a feed.
  const said = error instanceof ConfigError ? toPlainLines(error.message) : toPlain(withRemedy(error))
  io.err(`vitrine: ${said} (${error.code})\n`)
  if (error instanceof ConfigError) return EXIT_CONFIG
  return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED
}
