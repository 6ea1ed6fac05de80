import { randomBytes } from 'node:crypto'
import type { ValueParser } from '../../config/parsers.ts'
import type { Answers } from './answers.ts'

/** Bytes of a generated password. */
const PASSWORD_BYTES = 24

/** Node, systemd and Docker Compose read such a value alike without quotes, and any other without `'` and `\` in single quotes. */
const PLAIN_VALUE = /^[\w./:@%+,=&?~-]*$/

/** Whether Node, systemd and Docker Compose read the value alike in single quotes. */
const isWritable = (text: string): boolean => !/['\\\p{Cc}]/u.test(text)

/** Also require that `.env` can contain the value. */
export function toWritable<T>(parser: ValueParser<T>): ValueParser<T> {
  return {
    expects: parser.expects,
    parse: (text) => (isWritable(text) ? parser.parse(text) : undefined),
    explainError: (text) =>
      isWritable(text)
        ? parser.explainError?.(text)
        : String.raw`it contains ' or \, which not every program reads alike from .env`,
  }
}

/** Return the text of `.env`, with generated passwords. */
export function createEnvFile(answers: Answers): string {
  const lines = listSettings(answers).flatMap(([name, value]) =>
    value === null ? [] : [`${name}=${PLAIN_VALUE.test(value) ? value : `'${value}'`}`],
  )
  return `# Settings of Vitrine, written by "vitrine init". It contains secrets: only you may read it.\n${lines.join('\n')}\n`
}

function listSettings(answers: Answers): readonly (readonly [string, string | null])[] {
  const { setup, catalogUrl, catalogKey, publicUrl, databaseUrl } = answers
  return [
    ['VITRINE_CATALOG_URL', catalogUrl],
    ['VITRINE_CATALOG_KEY', catalogKey],
    ['VITRINE_PUBLIC_URL', publicUrl],
    ['VITRINE_TRUST_PROXY', findProxies(answers)],
    ['VITRINE_DATABASE_URL', databaseUrl],
    // The embedded catalog service uses the same database.
    ['VITRINE_CATALOG_DATABASE_URL', catalogUrl === null ? databaseUrl : null],
    ['VITRINE_ADMIN_PASSWORD', randomBytes(PASSWORD_BYTES).toString('base64url')],
    // In the address of the database, where only letters and digits need no encoding.
    ['POSTGRES_PASSWORD', setup === 'compose' ? randomBytes(PASSWORD_BYTES).toString('hex') : null],
  ]
}

/** The server speaks no TLS, so a proxy is in front of an https address. The load balancer of `compose.yaml` is another one. */
function findProxies({ setup, publicUrl }: Answers): string | null {
  if (publicUrl === null || !/^https:/i.test(publicUrl)) return null
  return setup === 'compose' ? '2' : 'loopback'
}
