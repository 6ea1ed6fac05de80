import { serveJob } from '../lib/thread.ts'
import { runWalk } from './walk.ts'
import type { WalkJob } from './walk-runner.ts'

// Entry point of the walk thread.
await serveJob((job, { signal, sendProgress }) =>
  runWalk(job as WalkJob, { signal, onProgress: sendProgress }),
)
