import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { CHANNEL, toGtin } from './catalog-data.mjs'
import { findFreePort, waitUntil } from './run.mjs'

/** The built program. */
export const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

/** The server walks at its start and not during measurements. A less frequent schedule takes long to compute. */
const ONCE_A_MONTH = '0 0 1 * *'

/** Without walks, every box is a look-up; the limit is high enough for all of them. */
export const WITHOUT_WALKS = {
  VITRINE_SYNC_CRON: 'off',
  VITRINE_UNKNOWN_LOOKUPS_PER_HOUR: '1000000',
}

/** A benchmark measures how long visits take. On a busy machine, none may end at a time limit: the peers have no limits. */
const LONG_TIMEOUTS = { VITRINE_VISITOR_TIMEOUT_MS: '10000', VITRINE_CATALOG_TIMEOUT_MS: '60000' }

let databaseCount = 0

/** Create the address of a new SQLite database. */
export function createDatabaseUrl(run) {
  return `sqlite:${join(run.folder, `database-${(databaseCount += 1)}.db`)}`
}

/** Create the settings of a server for a catalog, with a new stored copy. */
export function createSettings(run, catalog) {
  return {
    VITRINE_CATALOG_URL: catalog.origin,
    VITRINE_CATALOG_KEY: 'bench',
    VITRINE_DATABASE_URL: createDatabaseUrl(run),
    VITRINE_SYNC_CRON: ONCE_A_MONTH,
    VITRINE_LOG_LEVEL: 'warn',
    ...LONG_TIMEOUTS,
  }
}

/** Start a catalog of `count` products that responds after `delayMs`. */
export function startCatalog(run, { count, delayMs = 0 }) {
  return run.startPeer('catalog.mjs', [JSON.stringify({ count, delayMs })], run.cpu.client)
}

/** Control the catalog and return its counts; `action` is `state`, `reset`, or `generation?value=N`. */
export async function controlCatalog(catalog, action) {
  return JSON.parse((await fetchResponse(`${catalog.origin}/control/${action}`)).bytes)
}

/** Start `vitrine serve` on a free port and wait until `isReady`, by default until it listens. */
export async function startVitrine(run, settings, { cpu = run.cpu.server, readyPath = '/healthz' } = {}) {
  const port = await findFreePort()
  const child = run.start([MAIN, 'serve', '--json'], {
    env: { VITRINE_PORT: String(port), ...settings },
    cpu,
  })
  child.stdout.resume()
  const origin = `http://127.0.0.1:${port}`
  const isReady = async () => (await fetchResponse(`${origin}${readyPath}`)).status === 200
  await waitUntil(isReady, { what: 'start of vitrine', child })
  return { child, origin, pid: child.pid }
}

/** Start Vitrine for a catalog and wait until the walk has ended. */
export async function startWalkedVitrine(run, catalog, { settings = {}, cpu = run.cpu.server } = {}) {
  const vitrine = await startVitrine(run, { ...createSettings(run, catalog), ...settings }, { cpu })
  // Grids are unavailable until the walk has ended.
  const grid = `${vitrine.origin}${toGridPath()}`
  const isWalked = async () => (await fetchResponse(grid)).headers['vitrine-state'] === 'shown'
  await waitUntil(isWalked, { what: 'walk', child: vitrine.child, everyMs: 50 })
  return vitrine
}

/** Return the path of a product's box, by the product's index in the catalog. */
export function toBoxPath(index) {
  return `/fragments/${CHANNEL.id}/where-to-buy/${toGtin(index)}`
}

export function toGridPath() {
  return `/fragments/${CHANNEL.id}/deals`
}

/** Return the paths of the boxes from `first` up to, but not including, `end`. */
export function listBoxPaths(first, end) {
  return Array.from({ length: end - first }, (_, offset) => toBoxPath(first + offset))
}

/** Fetch a response with its raw body. */
export async function fetchResponse(url, headers = {}) {
  const response = await request(url, { headers })
  const bytes = Buffer.from(await response.body.arrayBuffer())
  return { status: response.statusCode, headers: response.headers, bytes }
}

/** Fetch a box twice and return the second, cached response. @throws if the box is not shown. */
export async function fetchWarmBox(url) {
  await fetchResponse(url)
  const response = await fetchResponse(url)
  const { 'vitrine-state': state } = response.headers
  if (response.status !== 200 || state !== 'shown')
    throw new Error(`${url}: ${response.status}, ${String(state)}`)
  return response
}
