/** One load by autocannon, in a process of its own: the order is JSON on the command line, the result JSON on standard output. */
import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'

const { url, headers, pathsFile, seconds, connections } = JSON.parse(process.argv[2])
const paths =
  pathsFile === undefined ? [] : readFileSync(pathsFile, 'utf8').trim().split('\n').slice(0, 5_000)

const result = await autocannon({
  url,
  headers,
  connections,
  duration: seconds,
  ...(paths.length > 0 && { requests: paths.map((path) => ({ path })) }),
})
const { latency, requests, duration, errors, timeouts } = result
const failures = errors + timeouts + result['4xx'] + result['5xx']
const measured = { requests: requests.total, durationUs: duration * 1e6, p50Us: latency.p50 * 1e3 }
process.stdout.write(JSON.stringify({ ...measured, p99Us: latency.p99 * 1e3, failures }))
