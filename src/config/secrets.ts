import { inspect } from 'node:util'

/** Shorter values are words that stand in any text; to hide them would make lines unreadable and tell what they are. */
const MIN_REDACTED_CHARACTERS = 6

/** Every value that was made a secret in this process, as it is and as JSON writes it; the longest first. */
let redactedValues: readonly string[] = []

/** A text without any value that was made a secret: the last net under what is logged. */
export function redactSecrets(text: string): string {
  let redacted = text
  for (const value of redactedValues) {
    if (!redacted.includes(value)) continue
    // A secret of digits may stand in longer numbers by chance.
    redacted = /^\d+$/.test(value)
      ? redacted.replace(new RegExp(`(?<!\\d)${value}(?!\\d)`, 'g'), REDACTED)
      : redacted.replaceAll(value, REDACTED)
  }
  return redacted
}

const REDACTED = '[redacted]'

/** JSON within a line of JSON writes it a third way. A secret that begins with another one comes before it. */
function registerSecret(value: string): void {
  const jsonText = JSON.stringify(value).slice(1, -1)
  const variants = [value, jsonText, JSON.stringify(jsonText).slice(1, -1)]
  redactedValues = [...new Set([...redactedValues, ...variants])].sort((a, b) => b.length - a.length)
}

/**
 * A value that prints `[redacted]` in every way that Node prints things: template strings, JSON, inspect, logs.
 * `reveal` is the only door, and only the catalog client and the password check go through it.
 */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
    if (value.length >= MIN_REDACTED_CHARACTERS) registerSecret(value)
  }

  /** The secret itself. Never put the result into an error, a log line or an answer. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return REDACTED
  }

  toJSON(): string {
    return REDACTED
  }

  [inspect.custom](): string {
    return REDACTED
  }
}

/** A key or password that can stand in an HTTP header; `undefined` for any other text. */
export function parseSecret(text: string): Secret | undefined {
  return /^[\x21-\x7e]{1,1024}$/.test(text) ? new Secret(text) : undefined
}

/** What must never leave the server, apart from the settings that may. */
export type Secrets = Readonly<{
  /** The catalog's API key; `null` with the embedded catalog, which makes its own. */
  catalogKey: Secret | null
  /** A file that holds the key, read again after a 401 and on SIGHUP; `null` when the key was given directly. */
  catalogKeyFile: string | null
  /** HTTP Basic password of `/studio` and `/metrics`; `null` when none is set. */
  adminPassword: Secret | null
}>
