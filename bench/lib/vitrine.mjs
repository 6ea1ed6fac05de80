import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { CHANNEL, toGtin } from './catalog-data.mjs'
import { findFreePort, waitUntil } from './processes.mjs'

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

/** A walk at a start without a copy, and no other while anything is measured. */
const ONCE_A_YEAR = '0 0 1 1 *'

let serial = 0

/** A file for a database that no other server of this run has. */
export function nameDatabase(run) {
  serial += 1
  return join(run.folder, `copy-${serial}.db`)
}

/** Every box is a look-up, and none is refused. */
export const WITHOUT_A_WALK = {
  VITRINE_SYNC_CRON: 'off',
  VITRINE_UNKNOWN_LOOKUPS_PER_HOUR: '1000000',
}

/**
 * Settings of every server here, by name; what a scenario sets comes after.
 * @param {{ origin: string }} catalog
 * @param {string} database path
 */
export function toSettings(catalog, database) {
  return {
    VITRINE_CATALOG_URL: catalog.origin,
    VITRINE_CATALOG_KEY: 'bench',
    VITRINE_DATABASE_URL: `sqlite:${database}`,
    VITRINE_SYNC_CRON: ONCE_A_YEAR,
    VITRINE_LOG_LEVEL: 'warn',
  }
}

/** Starts a catalog of `count` products in each of its channels that takes `delayMs` to answer. */
export function startCatalog(run, { count, delayMs = 0, channels = 1 }) {
  return run.startPeer('catalog.mjs', [JSON.stringify({ count, delayMs, channels })], run.cpus.catalog)
}

/** Asks the catalog what it was asked; `action` is `state`, `reset`, or `generation?value=N`. */
export async function askCatalog(catalog, action) {
  const { body } = await request(`${catalog.origin}/control/${action}`)
  return body.json()
}

/**
 * Starts `vitrine serve` on a free port and waits until it listens.
 * @param {import('./run.mjs').Run} run
 * @param {{ settings: Record<string, string>, cpus?: string | null, nodeOptions?: readonly string[] }} details
 */
export async function startVitrine(run, { settings, cpus = run.cpus.server, nodeOptions = [] }) {
  const port = await findFreePort()
  const child = run.processes.start({
    command: run.options.nodePath,
    parameters: [...nodeOptions, MAIN, 'serve', '--json'],
    env: { VITRINE_PORT: String(port), ...settings },
    cpus,
    output: 'ignore',
  })
  const origin = `http://127.0.0.1:${port}`
  const isAlive = async () => (await getStatus(`${origin}/healthz`)) === 200
  await waitUntil(isAlive, { what: 'vitrine listens', child, everyMs: 5 })
  return { child, origin, pid: child.pid }
}

/** Starts Vitrine over a catalog, and waits until it has walked it. */
export async function startWalkedVitrine(run, catalog, extra = {}) {
  const { count = 200, settings = {}, ...rest } = extra
  const own = { ...toSettings(catalog, nameDatabase(run)), ...settings }
  const vitrine = await startVitrine(run, { ...rest, settings: own })
  // The grid is there when the walk has ended.
  const isWalked = async () => (await fetchAnswer(toGridUrl(vitrine))).headers['vitrine-state'] === 'shown'
  await waitUntil(isWalked, { what: `a walk of ${count} products`, child: vitrine.child, withinMs: 600_000 })
  return vitrine
}

/** Runs `vitrine sync`, and gives what it prints. */
export function startSync(run, settings, cpus = run.cpus.server) {
  const parameters = [MAIN, 'sync', '--json']
  return run.processes.start({ command: run.options.nodePath, parameters, env: settings, cpus })
}

/** Starts the catalog service of this program alone. */
export function startCatalogService(run, { settings, cpus }) {
  const parameters = [MAIN, 'catalog', 'serve']
  return run.processes.start({
    command: run.options.nodePath,
    parameters,
    env: settings,
    cpus,
    output: 'ignore',
  })
}

/** Starts the import of a feed; what it did is the one line that it prints. */
export function startImport(run, { feed, settings, cpus }) {
  const parameters = [MAIN, 'catalog', 'import', feed, '--json']
  return run.processes.start({ command: run.options.nodePath, parameters, env: settings, cpus })
}

/** Runs another command of the program to its end. */
export function runVitrine(run, parameters, env) {
  return run.processes.run({ command: run.options.nodePath, parameters: [MAIN, ...parameters], env })
}

/** The address of the box of a product by its place in the catalog. */
export function toBoxUrl({ origin }, index, surface = 'fragments') {
  return `${origin}/${surface}/${CHANNEL.id}/where-to-buy/${toGtin(index)}`
}

/** The address of the grid. */
export function toGridUrl({ origin }, surface = 'fragments') {
  return `${origin}/${surface}/${CHANNEL.id}/deals`
}

/** An answer as it came, its bytes still encoded. */
export async function fetchAnswer(url, headers = {}, method = 'GET') {
  const answer = await request(url, { headers, method })
  return {
    status: answer.statusCode,
    headers: answer.headers,
    bytes: Buffer.from(await answer.body.arrayBuffer()),
  }
}

async function getStatus(url) {
  return (await fetchAnswer(url)).status
}
