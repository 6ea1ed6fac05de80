import { parentPort, workerData } from 'node:worker_threads'
import { readWithin } from '../database/read-deadline.ts'
import { createSerialQueue } from '../lib/serial-queue.ts'
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
const queue = createSerialQueue()

lowerThreadPriority()

async function respond({ id, method, parameters, withinMs }: ReadRequest): Promise<ReadResponse> {
  try {
    const read = reads[method] as (...given: readonly unknown[]) => Promise<unknown>
    const value = await readWithin(withinMs, () => read(...parameters))
    return value === undefined ? { id, failure: null } : { id, value }
  } catch (error) {
    return { id, failure: error instanceof Error ? error.message : String(error) }
  }
}

parentPort?.on('message', (message: ToReadThread) => {
  void queue.run(async () => {
    if (message !== 'close') return parentPort?.postMessage(await respond(message))
    await reader.destroy()
    parentPort?.close()
  })
})
