/**
 * Loaded before a server by `--import`: on SIGUSR2 the delays of its event loop since the last time are written to the file
 * that BENCH_LOOP_FILE names, and counting begins anew.
 */
import { writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

const file = process.env.BENCH_LOOP_FILE
if (isMainThread && file !== undefined) {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  process.on('SIGUSR2', () => {
    const [p50Ms, p99Ms, maxMs] = [delays.percentile(50), delays.percentile(99), delays.max].map(
      (ns) => ns / 1e6,
    )
    writeFileSync(file, JSON.stringify({ p50Ms, p99Ms, maxMs }))
    delays.reset()
  })
}
