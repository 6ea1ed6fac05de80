import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { CHANNEL, toGtin } from './catalog-data.mjs'
import { findFreePort, waitUntil } from './run.mjs'

/** The built program. */
export const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

/** The server walks at its start, and not while anything is measured. A rarer schedule takes long to compute. */
const ONCE_A_MONTH = '0 0 1 * *'

/** Every box is a look-up, and none is refused. */
export const WITHOUT_A_WALK = {
  VITRINE_SYNC_CRON: 'off',
  VITRINE_UNKNOWN_LOOKUPS_PER_HOUR: '1000000',
}

let databaseCount = 0

/** The address of a new stored copy. */
export function nameDatabase(run) {
  return `sqlite:${join(run.folder, `database-${(databaseCount += 1)}.db`)}`
}

/** Settings of a server over a catalog, with a stored copy of its own. */
export function toSettings(run, catalog) {
  return {
    VITRINE_CATALOG_URL: catalog.origin,
    VITRINE_CATALOG_KEY: 'bench',
    VITRINE_DATABASE_URL: nameDatabase(run),
    VITRINE_SYNC_CRON: ONCE_A_MONTH,
    VITRINE_LOG_LEVEL: 'warn',
  }
}

/** Start a catalog of `count` products that takes `delayMs` to answer. */
export function startCatalog(run, { count, delayMs = 0 }) {
  return run.startPeer('catalog.mjs', [JSON.stringify({ count, delayMs })], run.cpu.client)
}

/** Ask the catalog what it was asked; `action` is `state`, `reset`, or `generation?value=N`. */
export async function askCatalog(catalog, action) {
  return JSON.parse((await fetchAnswer(`${catalog.origin}/control/${action}`)).bytes)
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
  const isReady = async () => (await fetchAnswer(`${origin}${readyPath}`)).status === 200
  await waitUntil(isReady, { what: 'vitrine listens', child })
  return { child, origin, pid: child.pid }
}

/** Start Vitrine over a catalog, and wait until it has walked it. */
export async function startWalkedVitrine(run, catalog, { settings = {}, cpu = run.cpu.server } = {}) {
  const vitrine = await startVitrine(run, { ...toSettings(run, catalog), ...settings }, { cpu })
  // The grid is there when the walk has ended.
  const grid = `${vitrine.origin}${toGridPath()}`
  const isWalked = async () => (await fetchAnswer(grid)).headers['vitrine-state'] === 'shown'
  await waitUntil(isWalked, { what: 'the walk', child: vitrine.child, everyMs: 50 })
  return vitrine
}

/** The path of the box of a product by its place in the catalog. */
export function toBoxPath(index) {
  return `/fragments/${CHANNEL.id}/where-to-buy/${toGtin(index)}`
}

export function toGridPath() {
  return `/fragments/${CHANNEL.id}/deals`
}

/** Paths of the boxes from `first` to before `end`. */
export function listBoxPaths(first, end) {
  return Array.from({ length: end - first }, (_, place) => toBoxPath(first + place))
}

/** A response as it came. */
export async function fetchAnswer(url, headers = {}) {
  const answer = await request(url, { headers })
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  return { status: answer.statusCode, headers: answer.headers, bytes }
}

/** The warm box of an address. @throws when it is not shown. */
export async function fetchWarmBox(url) {
  await fetchAnswer(url)
  const answer = await fetchAnswer(url)
  const { 'vitrine-state': state } = answer.headers
  if (answer.status !== 200 || state !== 'shown')
    throw new Error(`${url}: ${answer.status}, ${String(state)}`)
  return answer
}
