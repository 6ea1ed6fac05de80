import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { onTestFinished } from 'vitest'
import { addCatalogCommands } from '../../../src/cli/catalog/program.ts'
import { type CommandContext, createCommandIo } from '../../../src/cli/command.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { createLogger } from '../../../src/observability/logger.ts'
import { type FakeClock, createFakeClock } from '../../helpers/fake-clock.ts'

/** A command's context with what it said. */
export type CommandUnderTest = {
  context: CommandContext
  /** Lines on standard output. */
  out: string[]
  /** Everything on standard error. */
  err: string[]
  clock: FakeClock
  folder: string
  stop: AbortController
}

/** Makes a context over an empty folder, which is removed after the test. */
export function makeCommandContext(options: { json?: boolean; isTerminal?: boolean } = {}): CommandUnderTest {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-command-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { config, secrets } = parseConfig({})
  const stop = new AbortController()
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
    json: options.json ?? false,
    io: createCommandIo({
      out: (line) => void out.push(line),
      err: (text) => void err.push(text),
      isTerminal: options.isTerminal ?? false,
      onHangUp: () => undefined,
      signal: stop.signal,
    }),
  }
  return { context, out, err, clock, folder, stop }
}

/** The same database and folder, with other ways to speak. */
export function withJson(under: CommandUnderTest): CommandUnderTest {
  return { ...under, context: { ...under.context, json: true } }
}

/** Type `vitrine catalog …`, and return the exit code. @throws what the command throws */
export async function type({ context }: CommandUnderTest, ...words: readonly string[]): Promise<number> {
  const catalog = new Command('catalog').exitOverride()
  let code = 0
  addCatalogCommands(catalog, (work) => async (...given) => {
    code = (await work(context, ...given)) ?? 0
  })
  await catalog.parseAsync([...words], { from: 'user' })
  return code
}
