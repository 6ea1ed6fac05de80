import { parentPort, workerData } from 'node:worker_threads'
import { lowerThreadPriority } from '../lib/thread-priority.ts'
import { runWalk } from './walk.ts'
import type { WalkMessage, WalkJob } from './walk-runner.ts'

/** Body of the walk's thread: one order in, progress and one report out, then it ends. */
const stop = new AbortController()
const send = (message: WalkMessage): void => parentPort?.postMessage(message)

lowerThreadPriority()
parentPort?.on('message', () => stop.abort())
const report = await runWalk(workerData as WalkJob, {
  signal: stop.signal,
  onProgress: (progress) => send({ type: 'progress', progress }),
})
send({ type: 'report', report })
parentPort?.close()
