import { inspect } from 'node:util'

/**
 * A value that prints `[redacted]` in every way that Node prints things: template strings, JSON, inspect, logs.
 * `reveal` is the only door, and only the catalog client and the password check go through it.
 */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The secret itself. Never put the result into an error, a log line or an answer. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[redacted]'
  }

  toJSON(): string {
    return '[redacted]'
  }

  [inspect.custom](): string {
    return '[redacted]'
  }
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
