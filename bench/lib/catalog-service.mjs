import { closeSync, openSync, writeSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createCatalogData } from './catalog-data.mjs'
import { readMemory } from './proc.mjs'
import { findFreePort, waitUntil } from './processes.mjs'
import { fetchAnswer, nameDatabase, runVitrine, startCatalogService, startImport } from './vitrine.mjs'

/** Products that are written into a feed at once. */
const CHUNK = 200

/** How often the memory of an import is looked at; its peak is the kernel's own. */
const LOOK_EVERY_MS = 50

/**
 * Imports the products of the bench into a catalog of its own.
 * @param {import('./run.mjs').Run} run
 * @param {{ count: number, cpus?: string | null }} wanted
 * @returns settings of the catalog, and how the import went
 */
export async function importProducts(run, { count, cpus = null }) {
  const feed = join(run.folder, `feed-${count}.ndjson`)
  writeFeed(feed, count)
  const settings = {
    VITRINE_CATALOG_DATABASE_URL: `sqlite:${nameDatabase(run)}`,
    VITRINE_LOG_LEVEL: 'warn',
    VITRINE_PORT: String(await findFreePort()),
  }
  const startedMs = performance.now()
  const child = startImport(run, { feed, settings, cpus })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text) => (printed += text))
  const ended = once(child, 'close')
  let peakMb = 0
  while (child.exitCode === null && child.signalCode === null) {
    // A program that has just ended is still in the list, without memory.
    peakMb = Math.max(peakMb, readMemory(child.pid)?.peakMb || 0)
    await Promise.race([ended, wait(LOOK_EVERY_MS)])
  }
  const [code] = await ended
  const seconds = (performance.now() - startedMs) / 1e3
  if (code !== 0) throw new Error(`the import ended with ${code}: ${child.errors}`)
  const { products, offers, rejected } = JSON.parse(printed)
  if (products !== count || rejected !== 0) throw new Error(`the import brought ${printed}`)
  return { settings, imported: { products, offers, seconds, perSecond: products / seconds, peakMb } }
}

/** Starts the catalog service over an imported catalog, with a key of its own. */
export async function startService(run, settings, cpus = run.cpus.catalog) {
  const [{ id }] = JSON.parse(await runVitrine(run, ['catalog', 'channels', '--json'], settings))
  const { key } = JSON.parse(await runVitrine(run, ['catalog', 'keys', 'add', 'bench', '--json'], settings))
  const child = startCatalogService(run, { settings, cpus })
  const origin = `http://127.0.0.1:${settings.VITRINE_PORT}`
  const headers = { authorization: `Bearer ${key}` }
  const isUp = async () => (await fetchAnswer(`${origin}/v0/channels`, headers)).status === 200
  await waitUntil(isUp, { what: 'the catalog service', child })
  return { origin, channelId: id, key, headers, pid: child.pid }
}

function writeFeed(file, count) {
  const data = createCatalogData({ count })
  const descriptor = openSync(file, 'w')
  for (let first = 0; first < count; first += CHUNK) {
    const lines = []
    for (let index = first; index < Math.min(count, first + CHUNK); index += 1)
      lines.push(data.toProduct(index), Buffer.from('\n'))
    writeSync(descriptor, Buffer.concat(lines))
  }
  closeSync(descriptor)
}
