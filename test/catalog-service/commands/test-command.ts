import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { onTestFinished } from 'vitest'
import { addCatalogCommands } from '../../../src/catalog-service/commands/program.ts'
import { type CommandContext, createCommandIo } from '../../../src/command.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { createLogger } from '../../../src/observability/logger.ts'
import { type FakeClock, createFakeClock } from '../../helpers/fake-clock.ts'
import { createFakePrompt } from '../../cli/fake-prompt.ts'

/** The context of a command, with its output. */
export type TestCommand = {
  context: CommandContext
  /** Lines on standard output. */
  out: string[]
  /** Everything on standard error. */
  err: string[]
  clock: FakeClock
  folder: string
  stopController: AbortController
}

/** Create a context with an empty folder, which is removed after the test. */
export function createTestCommand(options: { json?: boolean; isTerminal?: boolean } = {}): TestCommand {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-command-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { config, secrets } = parseConfig({})
  const stopController = new AbortController()
  const clock = createFakeClock(Date.UTC(2026, 4, 1))
  const out: string[] = []
  const err: string[] = []
  const context: CommandContext = {
    config: {
      ...config,
      host: '127.0.0.1',
      port: 0,
      catalogDatabase: { kind: 'sqlite', path: join(folder, 'catalog.db') },
    },
    secrets,
    logger: createLogger({ level: 'silent' }),
    clock,
    isJson: options.json ?? false,
    io: createCommandIo({
      out: (line) => void out.push(line),
      err: (text) => void err.push(text),
      isTerminal: options.isTerminal ?? false,
      onHangUp: () => undefined,
      signal: stopController.signal,
      openPrompt: () => createFakePrompt([]),
    }),
  }
  return { context, out, err, clock, folder, stopController }
}

/** The same database and folder, with another kind of output. */
export function withJson(command: TestCommand): TestCommand {
  return { ...command, context: { ...command.context, isJson: true } }
}

/** Run `vitrine catalog …` and return the exit code. @throws the error of the command */
export async function runCatalogCommand(
  { context }: TestCommand,
  ...args: readonly string[]
): Promise<number> {
  const catalog = new Command('catalog').exitOverride()
  let code = 0
  addCatalogCommands(catalog, (work) => async (...commandArgs) => {
    code = (await work(context, ...commandArgs)) ?? 0
  })
  await catalog.parseAsync([...args], { from: 'user' })
  return code
}
