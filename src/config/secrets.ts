import { inspect } from 'node:util'

/** Shorter values occur in ordinary text: redacting them would make lines unreadable and reveal the secret. */
const MIN_REDACTED_CHARACTERS = 6

/** All secrets of this process as plain and JSON-escaped text, the longest first. */
let redactedValues: readonly string[] = []

/** Replace all secrets in a text: the last safeguard before it is logged. */
export function redactSecrets(text: string): string {
  let redacted = text
  for (const value of redactedValues) {
    if (!redacted.includes(value)) continue
    // A secret of digits can be part of a longer number by chance.
    redacted = /^\d+$/.test(value)
      ? redacted.replace(new RegExp(`(?<!\\d)${value}(?!\\d)`, 'g'), REDACTED)
      : redacted.replaceAll(value, REDACTED)
  }
  return redacted
}

const REDACTED = '[redacted]'

/** Register the plain, the JSON-escaped and the twice escaped value. The longest comes first, because one can contain another. */
function registerSecret(value: string): void {
  const jsonText = JSON.stringify(value).slice(1, -1)
  const variants = [value, jsonText, JSON.stringify(jsonText).slice(1, -1)]
  redactedValues = [...new Set([...redactedValues, ...variants])].sort((a, b) => b.length - a.length)
}

/** Keep a text out of the log that is a secret only in its context, such as the path of an address. */
export function redactInLog(text: string): void {
  if (text.length >= MIN_REDACTED_CHARACTERS) registerSecret(text)
}

/** A value that prints as `[redacted]` in template strings, JSON, inspect and logs. Only `reveal` returns the text. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
    redactInLog(value)
  }

  /** Return the secret. Never put it into an error, a log line or a response. */
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

/** Parse a key or password that is valid in an HTTP header; `undefined` for any other text. */
export function parseSecret(text: string): Secret | undefined {
  return /^[\x21-\x7e]{1,1024}$/.test(text) ? new Secret(text) : undefined
}

/** Where events are sent, and what they are signed with. The path of an address can be a secret. */
export type WebhookSecrets = Readonly<{ url: Secret; secret: Secret }>

/** Proxies of outgoing requests, by the scheme of the target; `null`: none. A proxy's address can have a password. */
export type Proxies = Readonly<{ http: Secret | null; https: Secret | null; noProxy: string }>

/** Settings that must never leave the server. */
export type Secrets = Readonly<{
  /** API key of the catalog; `null` with the embedded catalog, which generates its own. */
  catalogKey: Secret | null
  /** File with the key, read again after a 401 and on SIGHUP; `null` when the key is a setting. */
  catalogKeyFile: string | null
  /** HTTP Basic password of `/studio` and `/metrics`; `null`: not set. */
  adminPassword: Secret | null
  /** Values of `VITRINE_FEED_…` by the rest of the name: parts of feed addresses. */
  feedSecrets: ReadonlyMap<string, Secret>
  /** `null`: no webhook. */
  webhook: WebhookSecrets | null
  proxies: Proxies
}>
