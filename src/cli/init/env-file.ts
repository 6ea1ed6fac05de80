import { randomBytes } from 'node:crypto'
import { parseEnv } from 'node:util'
import type { Environment } from '../../config/config.ts'
import type { ValueParser } from '../../config/parsers.ts'
import { UsageError } from '../../errors.ts'
import type { Answers } from './answers.ts'

/** Bytes of a generated password. */
const PASSWORD_BYTES = 24

/** Node, systemd and Docker Compose read such a value alike without quotes, and any other without `'` and `\` in single quotes. */
const PLAIN_VALUE = /^[\w./:@%+,=&?~-]*$/

const NOT_WRITABLE = String.raw`it contains ' or \, which not every program reads alike from .env`

const HEADER = '# Settings of Vitrine, written by "vitrine init". It contains secrets: only you may read it.'

/** Whether Node, systemd and Docker Compose read the value alike in single quotes. */
const isWritable = (text: string): boolean => !/['\\\p{Cc}]/u.test(text)

/** Also require that `.env` can contain the value. */
export function toWritable<T>(parser: ValueParser<T>): ValueParser<T> {
  return {
    expects: parser.expects,
    parse: (text) => (isWritable(text) ? parser.parse(text) : undefined),
    explainError: (text) => (isWritable(text) ? parser.explainError?.(text) : NOT_WRITABLE),
  }
}

/**
 * Return the text of `.env`. Settings that are not asked for stay: passwords are only generated if there are none, and other
 * lines of the present text are not changed. `kept`: names of settings with the value of before. `settings`: those of
 * before. @throws UsageError when `.env` cannot contain a value of the environment.
 */
export function createEnvFile(
  answers: Answers,
  present: string,
  settings: Environment,
): Readonly<{ text: string; kept: readonly string[] }> {
  const values = new Map([...Object.entries(settings), ...listAnswers(answers, settings)])
  const before = parseEnv(present)
  const changed = new Map([...values].filter(([name, value]) => (value ?? '') !== (before[name] ?? '')))
  const lines = (present === '' ? HEADER : present.trimEnd())
    .split('\n')
    .filter((line) => !changed.has(/^\s*(?:export\s+)?(\w+)\s*=/.exec(line)?.[1] ?? ''))
  const newLines = [...changed].flatMap(([name, value]) => (value ? [toLine(name, value)] : []))
  const kept = Object.keys(settings).filter((name) => settings[name] && settings[name] === values.get(name))
  return { text: `${[...lines, ...newLines].join('\n')}\n`, kept }
}

function toLine(name: string, value: string): string {
  if (!isWritable(value)) throw new UsageError(`${name}: ${NOT_WRITABLE}; nothing was written`)
  return `${name}=${PLAIN_VALUE.test(value) ? value : `'${value}'`}`
}

/** The values that follow from the answers; `null`: not set. */
function listAnswers(answers: Answers, settings: Environment): [string, string | null][] {
  const { setup, catalogUrl, catalogKey, publicUrl, databaseUrl } = answers
  const keep = (name: string, other: string | null): [string, string | null] => [
    name,
    settings[name] || other,
  ]
  const catalogDatabase = catalogUrl === null && databaseUrl?.startsWith('postgres') ? databaseUrl : null
  return [
    ['VITRINE_CATALOG_URL', catalogUrl],
    ['VITRINE_CATALOG_KEY', catalogKey],
    ['VITRINE_PUBLIC_URL', publicUrl],
    keep('VITRINE_TRUST_PROXY', findProxies(answers)),
    ['VITRINE_DATABASE_URL', databaseUrl],
    // The embedded catalog service uses the same PostgreSQL.
    keep('VITRINE_CATALOG_DATABASE_URL', catalogDatabase),
    keep('VITRINE_ADMIN_PASSWORD', randomBytes(PASSWORD_BYTES).toString('base64url')),
    // In the address of the database, where only letters and digits need no encoding.
    keep('POSTGRES_PASSWORD', setup === 'compose' ? randomBytes(PASSWORD_BYTES).toString('hex') : null),
  ]
}

/** The server speaks no TLS, so a proxy is in front of an https address. The load balancer of `compose.yaml` is another one. */
function findProxies({ setup, publicUrl }: Answers): string | null {
  if (publicUrl === null || !/^https:/i.test(publicUrl)) return null
  return setup === 'compose' ? '2' : 'loopback'
}
