import { parentPort, workerData } from 'node:worker_threads'
import { readWithin } from '../database/read-deadline.ts'
import { lowerThreadPriority } from '../lib/thread-priority.ts'
import { openReader } from './dialects.ts'
import {
  type ReadRequest,
  type ReadResponse,
  type ReadThreadData,
  type ToReadThread,
  createLongReads,
} from './long-reads.ts'
import { createReadCopy } from './sql-copies.ts'

/** Body of a thread that makes the long reads of a SQLite file, one after the other. */
const { path, catalog } = workerData as ReadThreadData
const reader = openReader(path)
const reads = createLongReads(createReadCopy(reader, catalog))

lowerThreadPriority()

async function read({ method, parameters, withinMs }: ReadRequest): Promise<ReadResponse> {
  try {
    const run = reads[method] as (...given: readonly unknown[]) => Promise<unknown>
    const value = await readWithin(withinMs, () => run(...parameters))
    return value === undefined ? { failure: null } : { value }
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}

async function respond(message: ToReadThread): Promise<void> {
  if (message !== 'close') return parentPort?.postMessage(await read(message))
  await reader.destroy()
  parentPort?.close()
}

parentPort?.on('message', (message: ToReadThread) => void respond(message))
