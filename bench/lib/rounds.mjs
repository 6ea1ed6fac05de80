import { readCpuSeconds } from './proc.mjs'
import { computeFieldMedian } from './statistics.mjs'

const RATE_COLUMNS = ['', 'requests/s', 'p50 ms', 'p99 ms']

/** The part of a round that comes before the first, so that everything is compiled and connected. */
const WARM_UP_SHARE = 0.5

/**
 * Measures each subject once a round, one after the other, and begins each round with another one: what disturbs the
 * machine for a while disturbs all of them.
 * @template Result
 * @param {import('./run.mjs').Run} run
 * @param {Record<string, (seconds: number) => Promise<Result>>} subjects
 * @returns {Promise<Record<string, Result[]>>} rounds by subject
 */
export async function runRounds(
  run,
  subjects,
  { rounds = run.options.rounds, seconds = run.options.seconds, warmUp = true } = {},
) {
  const names = Object.keys(subjects)
  const results = Object.fromEntries(names.map((name) => [name, []]))
  if (warmUp) for (const name of names) await subjects[name](seconds * WARM_UP_SHARE)
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
 * A measurement with the CPU time that the server spent on each request: unlike requests a second it hardly depends on
 * what else the machine does.
 * @param {number} pid of the server; its children count, too
 * @param {(seconds: number) => Promise<{ requests: number }>} measure
 */
export function withCpu(pid, measure) {
  return async (seconds) => {
    const before = readCpuSeconds(pid)
    const result = await measure(seconds)
    return { ...result, cpuUs: ((readCpuSeconds(pid) - before) / result.requests) * 1e6 }
  }
}

/** autocannon counts whole milliseconds: its 0 is anything below 1. */
function formatMs(ms) {
  return ms === 0 ? 'below 1' : ms.toFixed(2)
}

/** Subjects of `runRounds` as a table: requests a second, latencies, and what each is of the first. */
export function toRateTable(title, results, own) {
  const ownRate = computeFieldMedian(results[own], 'perSecond')
  const hasCpu = results[own].every((round) => round.cpuUs !== undefined)
  const rows = Object.entries(results).map(([name, rounds]) => {
    const rate = computeFieldMedian(rounds, 'perSecond')
    return [
      name,
      Math.round(rate),
      ...['p50Ms', 'p99Ms'].map((field) => formatMs(computeFieldMedian(rounds, field))),
      ...(hasCpu ? [computeFieldMedian(rounds, 'cpuUs').toFixed(1)] : []),
      name === own ? '' : (ownRate / rate).toFixed(2),
    ]
  })
  return { title, columns: [...RATE_COLUMNS, ...(hasCpu ? ['CPU µs a request'] : []), `${own} / this`], rows }
}

/**
 * Median over median.
 * @param {Record<string, readonly object[]>} results
 * @param {{ own: string, peer: string, field?: string }} wanted
 */
export function computeRatio(results, { own, peer, field = 'perSecond' }) {
  return computeFieldMedian(results[own], field) / computeFieldMedian(results[peer], field)
}
