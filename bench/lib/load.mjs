import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { computeQuantile } from './statistics.mjs'

const CONNECTIONS = 32
const WRK_SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url))
const RAW_SCRIPT = fileURLToPath(new URL('raw-load.mjs', import.meta.url))
const AUTOCANNON_SCRIPT = fileURLToPath(new URL('autocannon-load.mjs', import.meta.url))

/**
 * Asks as fast as it can over 32 connections: wrk where it is installed, else autocannon.
 * @param {import('./run.mjs').Run} run
 * @param {{ url: string, headers?: Record<string, string>, pathsFile?: string, seconds?: number, cpus?: string | null }} order
 *   `pathsFile`: a file of paths that are asked for one after the other
 * @returns {Promise<{ perSecond: number, p50Ms: number, p99Ms: number, requests: number }>}
 */
export async function measureMost(run, order) {
  const result =
    run.tools.wrk === undefined ? await loadByAutocannon(run, order) : await loadByWrk(run, order)
  return toRate(order.url, result)
}

/**
 * The same by a client of the bench's own, for what those programs cannot ask.
 * @param {import('./run.mjs').Run} run
 * @param {{ url: string, method: string, seconds: number }} order
 */
export async function measureRaw(run, { url, method, seconds }) {
  const parameters = [RAW_SCRIPT, JSON.stringify({ url, method, seconds, connections: CONNECTIONS })]
  const printed = await run.processes.run({ command: process.execPath, parameters, cpus: run.cpus.load })
  return toRate(url, JSON.parse(printed))
}

function toRate(url, { requests, durationUs, p50Us, p99Us, failures }) {
  if (failures > 0 || requests === 0)
    throw new Error(`${url}: ${failures} of ${requests} answers were failures`)
  return { perSecond: requests / (durationUs / 1e6), p50Ms: p50Us / 1e3, p99Ms: p99Us / 1e3, requests }
}

async function loadByWrk(
  run,
  { url, headers = {}, pathsFile, seconds = run.options.seconds, cpus = run.cpus.load },
) {
  // wrk takes whole seconds.
  const duration = `${Math.max(1, Math.round(seconds))}s`
  const lines = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const own = ['-t1', `-c${CONNECTIONS}`, `-d${duration}`, '-s', WRK_SCRIPT, ...lines, url]
  const parameters = pathsFile === undefined ? own : [...own, '--', pathsFile]
  const printed = await run.processes.run({ command: 'wrk', parameters, cpus })
  return JSON.parse(printed.trim().split('\n').at(-1))
}

async function loadByAutocannon(run, order) {
  const { url, headers = {}, pathsFile, seconds = run.options.seconds, cpus = run.cpus.load } = order
  const wanted = JSON.stringify({ url, headers, pathsFile, seconds, connections: CONNECTIONS })
  const parameters = [AUTOCANNON_SCRIPT, wanted]
  return JSON.parse(await run.processes.run({ command: process.execPath, parameters, cpus }))
}

/**
 * Asks at a fixed rate by h2load, which must be installed.
 * @param {import('./run.mjs').Run} run
 * @param {{ url: string, perSecond: number, seconds?: number, cpus?: string | null }} order
 * @returns {Promise<number[]>} milliseconds of each answer
 */
export async function collectAtRate(
  run,
  { url, perSecond, seconds = run.options.seconds, cpus = run.cpus.load },
) {
  const log = join(run.folder, 'h2load.log')
  rmSync(log, { force: true })
  const parameters = [
    '--h1',
    `--clients=${CONNECTIONS}`,
    `--duration=${Math.max(1, Math.round(seconds))}`,
    `--rps=${Math.max(1, Math.round(perSecond / CONNECTIONS))}`,
    `--log-file=${log}`,
    url,
  ]
  await run.processes.run({ command: 'h2load', parameters, cpus })
  const rows = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split('\t').map(Number))
  const failures = rows.filter(([, status]) => status !== 200).length
  if (failures > 0) throw new Error(`${url}: ${failures} of ${rows.length} answers were failures`)
  return rows.map(([, , us]) => us / 1e3)
}

/**
 * Latencies at a fixed rate.
 * @param {import('./run.mjs').Run} run
 * @param {{ url: string, perSecond: number, seconds?: number }} order
 */
export async function measureAtRate(run, order) {
  const latencies = await collectAtRate(run, order)
  const [p50Ms, p99Ms] = [0.5, 0.99].map((share) => computeQuantile(latencies, share))
  return { perSecond: latencies.length / Math.max(1, Math.round(order.seconds)), p50Ms, p99Ms }
}
