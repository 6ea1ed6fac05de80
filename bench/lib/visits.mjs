import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'undici'
import { CHANNEL, toGtin } from './catalog-data.mjs'
import { readCpuSeconds } from './proc.mjs'

const CONNECTIONS = 8
/** A server that used no more than a tick of the clock in this time is at rest. */
const REST_MS = 300

/** Boxes that are visited before what goes on behind them is waited for: a server refuses to begin more than some hundreds. */
const BATCH = 100

/**
 * Visits boxes once each over a few connections, and waits until what goes on behind them has ended.
 * @param {{ origin: string, pid: number }} server
 * @param {{ first: number, count: number, spread?: number, settle?: (visited: number) => Promise<void> }} boxes by their places
 *   in the catalog, of which each `spread`-th counts; `settle` waits for what so many visits began
 * @returns {Promise<{ cpuUs: number, bytes: number }>} of the server for each, and sent for each
 */
export async function measureVisits(server, { first, count, spread = 1, settle }) {
  const pool = new Pool(server.origin, { connections: CONNECTIONS })
  const before = readCpuSeconds(server.pid)
  let bytes = 0
  for (let visited = 0; visited < count;) {
    const end = Math.min(count, visited + BATCH)
    bytes += await visitBatch(pool, { from: first + visited, until: first + end, spread })
    visited = end
    await settle?.(visited)
  }
  await pool.close()
  await waitForRest(server.pid)
  return { cpuUs: ((readCpuSeconds(server.pid) - before) / count) * 1e6, bytes: bytes / count }
}

/** Gives the bytes that were sent. */
async function visitBatch(pool, { from, until, spread }) {
  const left = Array.from({ length: until - from }, (_, index) => from + index)[Symbol.iterator]()
  let bytes = 0
  const visit = async () => {
    for (const index of left) {
      const sent = await visitOnce(pool, index * spread)
      bytes += sent
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, visit))
  return bytes
}

async function visitOnce(pool, index) {
  const path = `/fragments/${CHANNEL.id}/where-to-buy/${toGtin(index)}`
  const { headers, body } = await pool.request({ method: 'GET', path })
  const sent = await body.arrayBuffer()
  const state = String(headers['vitrine-state'])
  if (state !== 'shown') throw new Error(`${path} was ${state}: ${String(headers['vitrine-reason'])}`)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 200 OK\r\n${lines.join('')}\r\n`.length + sent.byteLength
}

async function waitForRest(pid) {
  for (let before = -1; readCpuSeconds(pid) > before + 0.01;) {
    before = readCpuSeconds(pid)
    await wait(REST_MS)
  }
}
