import type { Environment } from '../../config/config.ts'
import { databaseAddressParser } from '../../config/database-address.ts'
import { type ValueParser, httpAddress, isInQuotes, oneOf, secretText } from '../../config/parsers.ts'
import { SETTINGS } from '../../config/settings.ts'
import { UsageError } from '../../errors.ts'
import type { CommandIo } from '../../command.ts'
import { toLocalUrl } from '../open-catalog.ts'
import type { Prompt } from '../../lib/prompt.ts'
import { type Answers, SETUPS, type Setup } from './answers.ts'
import { toWritable } from './env-file.ts'

/** Where `compose.yaml` publishes the servers. */
const COMPOSE_URL = 'http://localhost:8080'

type Question = Readonly<{
  /** In messages of `--yes`. */
  name: string
  text: string
  parser: ValueParser<unknown>
  /** The answer if the line is empty; `null`: none. A secret one is not shown. */
  defaultText: string | null
  isRequired?: boolean
  isSecret?: boolean
}>

/** Answers one question. */
export type Ask = (question: Question) => Promise<string | null>

const postgresAddress: ValueParser<unknown> = {
  expects: 'postgres://USER:PASSWORD@HOST:PORT/DATABASE with user and password percent-encoded',
  parse: (text) => (text.startsWith('postgres') ? databaseAddressParser.parse(text) : undefined),
  explainError: (text) => databaseAddressParser.explainError?.(text),
}

const yesOrNo: ValueParser<string> = oneOf(['yes', 'no'])

/** Ask until the answer is valid. */
export function askByPrompt(prompt: Prompt, io: CommandIo): Ask {
  return async (question) => {
    const { text, defaultText, isSecret = false } = question
    const shownDefault = isSecret ? 'as before' : defaultText
    const suffix = defaultText === null ? '' : ` [${shownDefault}]`
    for (;;) {
      const answer = await prompt.ask(`${text}${suffix}: `, isSecret ? 'secret' : 'plain')
      const value = answer === '' ? defaultText : answer
      const problem = findProblem(question, value)
      if (problem === null) return value
      io.err(`  Not accepted: ${problem}.`)
    }
  }
}

/** Give the default answer. @throws UsageError when it is missing or invalid. */
export const askNothing: Ask = async (question) => {
  const problem = findProblem(question, question.defaultText)
  if (problem !== null) throw new UsageError(`${question.name}: ${problem}; nothing was written`)
  return question.defaultText
}

/** Return what is wrong with an answer, without its text; `null` if it is valid. */
function findProblem({ parser, isRequired = false }: Question, value: string | null): string | null {
  if (value === null) return isRequired ? `required: ${parser.expects}` : null
  if (isInQuotes(value)) return 'remove the quotes'
  const writable = toWritable(parser)
  if (writable.parse(value) !== undefined) return null
  return writable.explainError?.(value) ?? `expected ${parser.expects}`
}

export async function askSetup(ask: Ask): Promise<Setup> {
  const answer = await ask({
    name: '--setup',
    text: 'How will the server run: systemd, compose (containers), or env (only the file .env)?',
    parser: oneOf(SETUPS),
    defaultText: 'env',
  })
  return answer as Setup
}

/** Ask whether existing files may be replaced. */
export async function askToReplace(ask: Ask, files: readonly string[]): Promise<boolean> {
  const kept = files.includes('.env') ? ' (.env keeps its passwords and what is not asked)' : ''
  const text = `${files.join(', ')} ${files.length === 1 ? 'exists' : 'exist'} already. Replace, yes or no${kept}?`
  return (await ask({ name: 'replace', text, parser: yesOrNo, defaultText: 'no' })) === 'yes'
}

/** Ask for the settings. Those of before are the default answers. */
export async function askSettings(ask: Ask, setup: Setup, settings: Environment): Promise<Answers> {
  const catalogUrl = await ask({
    name: 'VITRINE_CATALOG_URL',
    text: 'Address of the catalog API (empty: sample data, or your feeds)',
    parser: httpAddress,
    defaultText: settings['VITRINE_CATALOG_URL'] || null,
  })
  const needsKey = catalogUrl !== null && !settings['VITRINE_CATALOG_KEY_FILE']
  const catalogKey = needsKey ? await askKey(ask, settings) : settings['VITRINE_CATALOG_KEY'] || null
  const publicUrl = await ask({
    name: 'VITRINE_PUBLIC_URL',
    text: `Public address of this server (empty: ${toDefaultUrl(setup, settings)})`,
    parser: httpAddress,
    defaultText: settings['VITRINE_PUBLIC_URL'] || null,
  })
  const databaseUrl =
    setup === 'compose' ? settings['VITRINE_DATABASE_URL'] || null : await askDatabase(ask, settings)
  return { setup, catalogUrl, catalogKey, publicUrl, databaseUrl }
}

async function askKey(ask: Ask, settings: Environment): Promise<string | null> {
  return ask({
    name: 'VITRINE_CATALOG_KEY',
    text: 'API key of the catalog (not shown)',
    parser: secretText,
    defaultText: settings['VITRINE_CATALOG_KEY'] || null,
    isRequired: true,
    isSecret: true,
  })
}

/** Ask for the address of the database. Return `null` for SQLite at its default path. */
async function askDatabase(ask: Ask, settings: Environment): Promise<string | null> {
  const present = settings['VITRINE_DATABASE_URL'] ?? ''
  const presentAddress = present.startsWith('postgres') ? present : null
  const kind = await ask({
    name: 'database',
    text: 'Database: sqlite or postgresql?',
    parser: oneOf(['sqlite', 'postgresql']),
    defaultText: presentAddress === null ? 'sqlite' : 'postgresql',
  })
  if (kind === 'sqlite') return present.startsWith('sqlite') ? present : null
  return ask({
    name: 'VITRINE_DATABASE_URL',
    text: 'Address postgres://USER:PASSWORD@HOST:PORT/DATABASE (not shown)',
    parser: postgresAddress,
    defaultText: presentAddress,
    isRequired: true,
    isSecret: true,
  })
}

/** The address of the server for its user. */
export function toShownUrl({ setup, publicUrl }: Answers, settings: Environment): string {
  return httpAddress.parse(publicUrl ?? '') ?? toDefaultUrl(setup, settings)
}

function toDefaultUrl(setup: Setup, settings: Environment): string {
  if (setup === 'compose') return COMPOSE_URL
  const host = settings['VITRINE_HOST'] || SETTINGS.VITRINE_HOST.defaultText
  const port = settings['VITRINE_PORT'] || settings['PORT'] || SETTINGS.VITRINE_PORT.defaultText
  return toLocalUrl(host, Number(port))
}
