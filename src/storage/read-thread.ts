import { workerData } from 'node:worker_threads'
import { runWithDeadline } from '../database/sqlite.ts'
import { serveRequests } from '../lib/request-thread.ts'
import { lowerThreadPriority } from '../lib/thread.ts'
import { openReader } from '../database/open-database.ts'
import { createLongReads, createTimeoutError } from './long-reads.ts'
import type { CopyTables } from './schema.ts'
import { createCopyReader } from './copies.ts'
import type { ReadRequest, ReadThreadData } from './threads.ts'

/** Entry point of the thread for long reads of a SQLite file. */
const { path, catalog } = workerData as ReadThreadData
const reader = openReader<CopyTables>(path)
const reads = createLongReads(createCopyReader(reader, catalog))

async function read({ method, parameters, timeoutMs }: ReadRequest): Promise<unknown> {
  const run = reads[method] as (...args: readonly unknown[]) => Promise<unknown>
  const value = await runWithDeadline(timeoutMs, () => run(...parameters))
  if (value === undefined) throw createTimeoutError()
  return value
}

lowerThreadPriority()
serveRequests(
  (request) => read(request as ReadRequest),
  () => reader.destroy(),
)
