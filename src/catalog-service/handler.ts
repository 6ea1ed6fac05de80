import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Clock, SECOND_MS, nextMidnightUtcMs } from '../clock.ts'
import type { Secret } from '../config/secrets.ts'
import { ServiceError, StoreError } from '../errors.ts'
import { createAuthenticate } from './authenticate.ts'
import { sendFound, sendFailure } from './send.ts'
import { createOperations, parseAddress } from './operations.ts'
import type { Caller, CatalogStore } from './store/catalog-store.ts'

/** What the service runs on. */
export type CatalogServiceOptions = Readonly<{
  store: CatalogStore
  clock: Clock
  logger: Readonly<{ error(fields: object, words: string): void }>
  /** A key known to this process only, accepted beside the stored ones, for the catalog's first organization. */
  ownKey?: Secret
  /** Compress answers for those who ask for it: not worth it on this machine. */
  compress?: boolean
  /** Called with each request whose key is valid. */
  onCaller?: (request: IncomingMessage, organizationId: string) => void
}>

/** How often a key is looked up for one request, when the catalog changes just then. */
const MAX_ADMISSIONS = 10

/** What answers requests of the interface. */
export type CatalogHandler = Readonly<{
  /** Answers one request, and never fails: what goes wrong is an answer, too. */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Answers that something went wrong. */
  fail(request: IncomingMessage, response: ServerResponse, error: unknown): void
}>

/**
 * Makes what answers the three operations, without a framework in between: it stands before Express and within it
 * (docs/adr/0020). Key first, then the daily limit, then the address: a 401 is not counted, everything else is,
 * whatever it is answered with.
 */
export function createCatalogHandler(options: CatalogServiceOptions): CatalogHandler {
  const { store, clock } = options
  const reads = store.openReads()
  const authenticate = createAuthenticate({ reads, ownKey: options.ownKey })
  const usage = store.openUsageCounter()
  const operations = createOperations(reads)

  const admit = async (authorization: string | undefined): Promise<Caller> => {
    for (let tries = 0; tries < MAX_ADMISSIONS; tries += 1) {
      const caller = await authenticate(authorization)
      const askedAtMs = clock.nowMs()
      const answer = await usage.count(caller)
      if (answer === 'counted') return caller
      if (answer === 'full') throw toLimitError(askedAtMs, clock.nowMs())
    }
    throw new StoreError('the catalog changes faster than a key can be looked up')
  }
  const find = async (request: IncomingMessage): Promise<unknown> => {
    const { organization, keyId } = await admit(request.headers.authorization)
    options.onCaller?.(request, organization.id)
    if (keyId !== null) usage.noteKey(keyId)
    const address = parseAddress(request.url ?? '')
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new ServiceError(405, 'only GET is possible here')
    return operations[address.operation](organization.id, address)
  }
  const fail: CatalogHandler['fail'] = (request, response, error) => {
    const failure = toServiceError(error)
    if (failure !== error) {
      const path = (request.url ?? '').split('?', 1)[0]
      options.logger.error({ err: error, path }, 'the catalog service failed to answer')
    }
    sendFailure(request, response, failure)
  }
  return {
    async answer(request, response) {
      try {
        const body = JSON.stringify(await find(request))
        sendFound(request, response, { body, nowMs: clock.nowMs(), compress: options.compress === true })
      } catch (error) {
        fail(request, response, error)
      }
    },
    fail,
  }
}

/** Anything but an error of ours is a fault of ours. */
function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  if (error instanceof StoreError) return new ServiceError(503, 'the catalog is busy; try again in a moment')
  return new ServiceError(500, 'something went wrong in the catalog service')
}

/** Asked before midnight and refused after it, a request was counted on the day that is over. */
function toLimitError(askedAtMs: number, nowMs: number): ServiceError {
  const waitMs = Math.max(0, nextMidnightUtcMs(askedAtMs) - nowMs)
  const seconds = Math.max(1, Math.ceil(waitMs / SECOND_MS))
  return new ServiceError(429, 'the daily request limit is reached; it resets at 00:00 UTC', seconds)
}
