/**
 * Sends several kinds of requests, each at its own rate, whatever the answers take: a slow answer delays no other request. In a
 * process of its own: the order is JSON on the command line, the result JSON on standard output. In a path, {n} becomes the number
 * of the request, which begins at `first`.
 */
import { Agent, request } from 'undici'
import { computeQuantile } from './statistics.mjs'

const { origin, kinds, seconds } = JSON.parse(process.argv[2])
const dispatcher = new Agent({ connections: 256 })

async function visit({ paths, first = 0 }, index) {
  const number = first + index
  const path = paths[number % paths.length].replaceAll('{n}', String(number))
  const beganMs = performance.now()
  const { statusCode, headers, body } = await request(`${origin}${path}`, { dispatcher })
  await body.dump()
  return {
    latencyMs: performance.now() - beganMs,
    state: `${statusCode} ${String(headers['vitrine-state'])}`,
  }
}

async function visitAtRate(kind) {
  const visits = []
  const startedMs = performance.now()
  await new Promise((resolve) => {
    const timer = setInterval(() => {
      const due = Math.floor(((performance.now() - startedMs) / 1e3) * kind.perSecond)
      while (visits.length < Math.min(due, kind.perSecond * seconds)) visits.push(visit(kind, visits.length))
      if (visits.length < kind.perSecond * seconds) return
      clearInterval(timer)
      resolve()
    }, 2)
  })
  return summarize(await Promise.all(visits))
}

function summarize(visits) {
  const latencies = visits.map(({ latencyMs }) => latencyMs)
  const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((share) => computeQuantile(latencies, share))
  const states = {}
  for (const { state } of visits) states[state] = (states[state] ?? 0) + 1
  return { requests: visits.length, p50Ms, p99Ms, maxMs, states }
}

const names = Object.keys(kinds)
const results = await Promise.all(names.map((name) => visitAtRate(kinds[name])))
process.stdout.write(JSON.stringify(Object.fromEntries(names.map((name, place) => [name, results[place]]))))
await dispatcher.close()
