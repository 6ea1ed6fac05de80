import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { createLineBudget } from '../observability/log-rate-limiter.ts'
import { findOperation } from './operations.ts'
import type { ServiceMetrics } from './service-metrics.ts'

/** An address of the interface is shorter; the rest of a longer one tells nothing. */
const MAX_PATH_CHARACTERS = 200

/** What looks like an API key; one in an address is a mistake, and must not get into a log. */
const KEY_LIKE = /vk_[\w-]+/g

/** What the log is made of. */
export type RequestLogOptions = Readonly<{
  clock: Clock
  metrics: ServiceMetrics
  logger: Readonly<{ info(fields: object, words: string): void }>
}>

/** One line and one count for each request, when its response has ended. */
export type RequestLog = Readonly<{
  note(request: IncomingMessage, response: ServerResponse): void
  /** Whose request it is, as soon as its key was found valid. */
  noteOrganization(request: IncomingMessage, organizationId: string): void
}>

/** Create the log. No line has a query, a header or a caller's address; a flood of requests is no flood of lines. */
export function createRequestLog({ clock, metrics, logger }: RequestLogOptions): RequestLog {
  const organizations = new WeakMap<IncomingMessage, string>()
  const lines = createLineBudget(clock)
  return {
    noteOrganization: (request, organizationId) => void organizations.set(request, organizationId),
    note(request, response) {
      const startedMs = clock.nowMs()
      response.once('close', () => {
        const durationMs = Math.max(0, clock.nowMs() - startedMs)
        const status = response.statusCode
        metrics.countResponse({ operation: findOperation(request.url ?? '') ?? 'other', status, durationMs })
        const leftOut = lines.take()
        if (leftOut === undefined) return
        const organizationId = organizations.get(request)
        logger.info(
          {
            method: request.method,
            path: toPath(request.url ?? ''),
            status,
            durationMs,
            ...(organizationId !== undefined && { organizationId }),
            ...(!response.writableFinished && { isCutOff: true }),
            ...(leftOut > 0 && { leftOut }),
          },
          'request answered',
        )
      })
    },
  }
}

function toPath(target: string): string {
  const [path = ''] = target.split('?', 1)
  return path.slice(0, MAX_PATH_CHARACTERS).replace(KEY_LIKE, '[redacted]')
}
