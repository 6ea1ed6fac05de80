import { Pool } from 'undici'

/** Connections that ask at once, each for the next answer as soon as it has one. */
const CONNECTIONS = 32

/**
 * Asks `url` over and over for `durationMs` and counts whole answers.
 * @returns requests a second, and latencies in milliseconds at the 50th and 99th percentile
 */
export async function measure(url, durationMs) {
  const { origin, pathname, search } = new URL(url)
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1 })
  const latenciesMs = []
  const untilMs = performance.now() + durationMs
  const askOnAndOn = async () => {
    while (performance.now() < untilMs) {
      const startedMs = performance.now()
      const { statusCode, body } = await pool.request({ method: 'GET', path: pathname + search })
      await body.dump()
      if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`)
      latenciesMs.push(performance.now() - startedMs)
    }
  }
  const startedMs = performance.now()
  await Promise.all(Array.from({ length: CONNECTIONS }, askOnAndOn))
  const seconds = (performance.now() - startedMs) / 1_000
  await pool.close()
  latenciesMs.sort((a, b) => a - b)
  const at = (share) => latenciesMs[Math.floor(latenciesMs.length * share)]
  return { perSecond: latenciesMs.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99) }
}

/** The middle of some numbers. */
export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}
