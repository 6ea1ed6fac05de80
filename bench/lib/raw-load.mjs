/**
 * Asks for one address as fast as it can, by HEAD too, which wrk, h2load and autocannon do not measure; in a process of its
 * own: the order is JSON on the command line, the result JSON on standard output.
 */
import { openRawConnection } from './raw-client.mjs'
import { computeQuantile } from './statistics.mjs'

const { url, method, seconds, connections } = JSON.parse(process.argv[2])
const { origin, pathname } = new URL(url)
const latencies = []
let failures = 0
const startedMs = performance.now()
const untilMs = startedMs + seconds * 1e3

const askOnAndOn = async () => {
  const connection = await openRawConnection(origin)
  for (let beganMs = performance.now(); beganMs < untilMs; beganMs = performance.now()) {
    const { status, bytes } = await connection.ask(pathname, method)
    if (status !== 200 || bytes === 0) failures += 1
    latencies.push(performance.now() - beganMs)
  }
  connection.close()
}
await Promise.all(Array.from({ length: connections }, askOnAndOn))
const durationUs = (performance.now() - startedMs) * 1e3
const p50Us = computeQuantile(latencies, 0.5) * 1e3
const p99Us = computeQuantile(latencies, 0.99) * 1e3
process.stdout.write(JSON.stringify({ requests: latencies.length, durationUs, p50Us, p99Us, failures }))
