/**
 * Visitors in groups: all of a group ask for the same product at the same moment, and go on to the next one together, from
 * the first product named on. In a process of its own: the order is JSON on the command line, the result JSON on standard output.
 */
import { toGtin } from './catalog-data.mjs'
import { openRawConnection } from './raw-client.mjs'
import { computeQuantile } from './statistics.mjs'

const { origin, before, first, groups, groupSize, seconds } = JSON.parse(process.argv[2])
const latencies = []
let failures = 0
let next = first
const untilMs = performance.now() + seconds * 1e3

const visit = async (connection, gtin) => {
  const beganMs = performance.now()
  const { status, bytes } = await connection.ask(`${before}${gtin}`)
  // A box that could not be had in time is empty.
  if (status !== 200 || bytes === 0) failures += 1
  latencies.push(performance.now() - beganMs)
}
const visitTogether = async () => {
  const connections = await Promise.all(Array.from({ length: groupSize }, () => openRawConnection(origin)))
  while (performance.now() < untilMs) {
    const gtin = toGtin(next++)
    await Promise.all(connections.map((connection) => visit(connection, gtin)))
  }
  for (const connection of connections) connection.close()
}
await Promise.all(Array.from({ length: groups }, visitTogether))
process.stdout.write(
  JSON.stringify({
    requests: latencies.length,
    products: next - first,
    p50Ms: computeQuantile(latencies, 0.5),
    p99Ms: computeQuantile(latencies, 0.99),
    failures,
  }),
)
