import { readCpuSeconds } from './proc.mjs'
import { computeMedian, summarize } from './statistics.mjs'

/** Length of the warm-up in rounds: at first, V8's compiler uses more CPU than the requests do. */
const WARM_UP_ROUNDS = 3

/**
 * Measure every subject once a round, one after the other. Each round starts with another subject, so that a disturbance of
 * the machine affects all of them.
 * @template Result
 * @param {import('./run.mjs').Run} run
 * @param {Record<string, (seconds: number) => Promise<Result>>} subjects
 * @returns {Promise<Record<string, Result[]>>} rounds by subject
 */
export async function runRounds(run, subjects, { warmUp = true } = {}) {
  const { rounds, seconds } = run.options
  const names = Object.keys(subjects)
  const results = Object.fromEntries(names.map((name) => [name, []]))
  if (warmUp) for (const name of names) await subjects[name](seconds * WARM_UP_ROUNDS)
  for (let round = 0; round < rounds; round += 1) {
    for (const position of names.keys()) {
      const name = names[(position + round) % names.length]
      results[name].push(await subjects[name](seconds))
    }
    run.log(`  round ${round + 1} of ${rounds}`)
  }
  return results
}

/**
 * Add the server's CPU time for each request. Unlike requests a second, it hardly depends on the load of the machine.
 */
export async function withCpu(pid, measure) {
  const before = readCpuSeconds(pid)
  const result = await measure()
  return { ...result, cpuUs: ((readCpuSeconds(pid) - before) / result.requests) * 1e6 }
}

/** Return the median of a field over the rounds of a subject. */
export function computeFieldMedian(rounds, field) {
  return computeMedian(rounds.map((round) => round[field]))
}

/**
 * Divide a field of one subject by that of another, round by round.
 * @returns {{ median: number, min: number, max: number }}
 */
export function computeRatio(results, { of, to, field }) {
  return summarize(results[of].map((round, index) => round[field] / results[to][index][field]))
}

/** Convert rounds to a table: requests a second, latencies, CPU, and CPU as a multiple of the first subject's. */
export function toLoadTable(title, results) {
  const [reference] = Object.keys(results)
  const rows = Object.entries(results).map(([name, rounds]) => {
    const { median, min, max } = computeRatio(results, { of: name, to: reference, field: 'cpuUs' })
    return [
      name,
      Math.round(computeFieldMedian(rounds, 'perSecond')),
      ...['p50Ms', 'p99Ms'].map((field) => computeFieldMedian(rounds, field).toFixed(2)),
      computeFieldMedian(rounds, 'cpuUs').toFixed(1),
      name === reference ? '' : `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`,
    ]
  })
  return { title, columns: ['', 'requests/s', 'p50 ms', 'p99 ms', 'CPU µs', `CPU / ${reference}`], rows }
}
