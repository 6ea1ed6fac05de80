import { readCpuSeconds } from './proc.mjs'
import { computeMedian, summarize } from './statistics.mjs'

/** Rounds before the first: in its first seconds V8 compiles what is used often, which costs more than the requests themselves. */
const WARM_UP_ROUNDS = 3

/**
 * Measure each subject once a round, one after the other. Each round begins with another subject: what disturbs the
 * machine for a while disturbs all of them.
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
    for (const place of names.keys()) {
      const name = names[(place + round) % names.length]
      results[name].push(await subjects[name](seconds))
    }
    run.say(`  round ${round + 1} of ${rounds}`)
  }
  return results
}

/**
 * Add the CPU time that the server spent on each request. Unlike requests a second it hardly depends on what else the
 * machine does.
 */
export async function withCpu(pid, measure) {
  const before = readCpuSeconds(pid)
  const result = await measure()
  return { ...result, cpuUs: ((readCpuSeconds(pid) - before) / result.requests) * 1e6 }
}

/** The median of one field over the rounds of a subject. */
export function computeFieldMedian(rounds, field) {
  return computeMedian(rounds.map((round) => round[field]))
}

/**
 * A field of one subject over that of another one, round by round.
 * @returns {{ median: number, min: number, max: number }}
 */
export function computeRatio(results, { of, to, field }) {
  return summarize(results[of].map((round, index) => round[field] / results[to][index][field]))
}

/** Subjects as a table: requests a second, latencies, CPU, and the CPU of each as a multiple of the first one's. */
export function toLoadTable(title, results) {
  const [own] = Object.keys(results)
  const rows = Object.entries(results).map(([name, rounds]) => {
    const { median, min, max } = computeRatio(results, { of: name, to: own, field: 'cpuUs' })
    return [
      name,
      Math.round(computeFieldMedian(rounds, 'perSecond')),
      ...['p50Ms', 'p99Ms'].map((field) => computeFieldMedian(rounds, field).toFixed(2)),
      computeFieldMedian(rounds, 'cpuUs').toFixed(1),
      name === own ? '' : `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`,
    ]
  })
  return { title, columns: ['', 'requests/s', 'p50 ms', 'p99 ms', 'CPU µs', `CPU / ${own}`], rows }
}
