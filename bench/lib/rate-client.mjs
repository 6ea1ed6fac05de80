/**
 * Load generator, a process of its own: sends several kinds of requests, each at its own rate. A slow response delays no other
 * request. Options: JSON in argv; result: JSON on standard output. In a path, {n} becomes the request's number, from `first` on.
 */
import { Agent, request } from 'undici'
import { computeQuantile } from './statistics.mjs'

const { origin, kinds, seconds } = JSON.parse(process.argv[2])
const dispatcher = new Agent({ connections: 256 })

async function sendRequest(path) {
  const sentMs = performance.now()
  const { headers, body } = await request(`${origin}${path}`, { dispatcher })
  await body.dump()
  return { ms: performance.now() - sentMs, isUnavailable: headers['vitrine-state'] === 'unavailable' }
}

async function sendAtRate({ name, paths, perSecond, first }) {
  const pending = []
  const startedMs = performance.now()
  await new Promise((resolve) => {
    const timer = setInterval(() => {
      const elapsed = Math.min(seconds, (performance.now() - startedMs) / 1e3)
      while (pending.length < elapsed * perSecond) {
        const number = first + pending.length
        pending.push(sendRequest(paths[number % paths.length].replace('{n}', String(number))))
      }
      if (elapsed < seconds) return
      clearInterval(timer)
      resolve()
    }, 2)
  })
  const results = await Promise.all(pending)
  const latencies = results.map(({ ms }) => ms)
  const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((share) => computeQuantile(latencies, share))
  return [name, { p50Ms, p99Ms, maxMs, unavailable: results.filter((result) => result.isUnavailable).length }]
}

const results = await Promise.all(kinds.map(sendAtRate))
process.stdout.write(JSON.stringify(Object.fromEntries(results)))
await dispatcher.close()
