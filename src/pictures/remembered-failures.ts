import { LRUCache } from 'lru-cache'
import { type Clock, HOUR_MS, MINUTE_MS, SECOND_MS, isWithin } from '../clock.ts'
import { PictureError, type PictureFailure } from '../errors.ts'

/** How long a failure is remembered. */
const FAILURE_MS: number = HOUR_MS
const MAX_FAILURES = 20_000

/** These failures depend on the load of this server, not on the picture. */
const TRANSIENT_FAILURES: ReadonlySet<PictureFailure> = new Set(['busy', 'disk'])

type Failure = Readonly<{ failure: PictureFailure; atMs: number }>

/** Failures of pictures in the last hour, by a key. */
export class RememberedFailures {
  readonly #clock: Clock
  readonly #failures = new LRUCache<string, Failure>({ maxSize: MAX_FAILURES, sizeCalculation: () => 1 })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  has(key: string): boolean {
    return this.#find(key) !== undefined
  }

  /** @throws PictureError when there was a failure */
  check(key: string): void {
    const found = this.#find(key)
    if (found !== undefined) throw new RememberedFailure(found)
  }

  /** Remember an error, unless it says nothing about the picture. */
  remember(key: string, error: unknown): void {
    if (!(error instanceof PictureError) || TRANSIENT_FAILURES.has(error.failure)) return
    this.#failures.set(key, { failure: error.failure, atMs: this.#clock.nowMs() })
  }

  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** Return how long clients may use the stand-in: until the server tries again, but at least a minute. */
  getPauseSeconds(error: PictureError): number {
    if (TRANSIENT_FAILURES.has(error.failure)) return 0
    const nowMs = this.#clock.nowMs()
    const failedAtMs = error instanceof RememberedFailure ? error.atMs : nowMs
    const remainingMs = failedAtMs + FAILURE_MS - nowMs
    return Math.ceil(Math.min(FAILURE_MS, Math.max(MINUTE_MS, remainingMs)) / SECOND_MS)
  }

  #find(key: string): Failure | undefined {
    const found = this.#failures.get(key)
    return found && isWithin(found.atMs, FAILURE_MS, this.#clock.nowMs()) ? found : undefined
  }
}

/** A failure that happened before, at `atMs`. */
class RememberedFailure extends PictureError {
  readonly atMs: number

  constructor({ failure, atMs }: Failure) {
    super(failure)
    this.atMs = atMs
  }
}
