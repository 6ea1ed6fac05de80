import { workerData } from 'node:worker_threads'
import { serveRequests } from '../lib/request-thread.ts'
import { serializeError } from '../lib/thread.ts'
import { type StoredCopy, openStoredCopy } from './stored-copy.ts'
import type { WriteRequest, WriteResult, WriteThreadData } from './threads.ts'

/** Entry point of the thread that writes look-ups to a SQLite file. The caller reports failures. */
const { path, catalog, history } = workerData as WriteThreadData
let copy: StoredCopy | undefined

async function write(calls: WriteRequest): Promise<WriteResult> {
  copy ??= await openStoredCopy({
    database: { kind: 'sqlite', path },
    catalog,
    history,
    access: 'write thread',
    service: { visitorTimeoutMs: Infinity, onFailure: () => {} },
  })
  const { putLookups } = copy
  return Promise.all(
    calls.map((lookups) =>
      putLookups(lookups).then(
        () => null,
        (error: unknown) => serializeError(error),
      ),
    ),
  )
}

serveRequests(
  (request) => write(request as WriteRequest),
  async () => copy?.close(),
)
