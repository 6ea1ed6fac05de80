import { parentPort, workerData } from 'node:worker_threads'
import { runWithDeadline } from '../database/sqlite.ts'
import { serializeError, lowerThreadPriority } from '../lib/thread.ts'
import { openReader } from '../database/open-database.ts'
import {
  type ReadRequest,
  type ReadResponse,
  type ReadThreadData,
  type ReadThreadMessage,
  createLongReads,
  createTimeoutError,
} from './long-reads.ts'
import type { CopyTables } from './schema.ts'
import { createCopyReader } from './copies.ts'

/** Entry point of the thread for long reads of a SQLite file. */
const { path, catalog } = workerData as ReadThreadData
const reader = openReader<CopyTables>(path)
const reads = createLongReads(createCopyReader(reader, catalog))

lowerThreadPriority()

async function read({ method, parameters, timeoutMs }: ReadRequest): Promise<ReadResponse> {
  try {
    const run = reads[method] as (...args: readonly unknown[]) => Promise<unknown>
    const value = await runWithDeadline(timeoutMs, () => run(...parameters))
    return value === undefined ? { error: serializeError(createTimeoutError()) } : { value }
  } catch (error) {
    return { error: serializeError(error) }
  }
}

async function respond(message: ReadThreadMessage): Promise<void> {
  if (message !== 'close') return parentPort?.postMessage(await read(message))
  await reader.destroy()
  parentPort?.close()
}

parentPort?.on('message', (message: ReadThreadMessage) => void respond(message))
