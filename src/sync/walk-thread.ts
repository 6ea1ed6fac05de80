import { parentPort, workerData } from 'node:worker_threads'
import { lowerThreadPriority } from '../lib/thread-priority.ts'
import { runWalk } from './walk.ts'
import type { WalkMessage, WalkJob } from './walk-runner.ts'

// Entry point of the walk thread: receives one job, sends progress and one report, then exits.
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
