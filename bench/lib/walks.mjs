import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { setTimeout as wait } from 'node:timers/promises'
import { CHANNEL } from './catalog-data.mjs'
import { readCpuSeconds, readMemory } from './proc.mjs'
import { queryFile } from './sqlite.mjs'
import { askCatalog, startSync } from './vitrine.mjs'

const LOOP = fileURLToPath(new URL('../peers/fetch-loop.mjs', import.meta.url))
const SAMPLE_MS = 20

/**
 * Walks the catalog by `vitrine sync`. Counted from the catalog's first call to the line that the walk prints at its end,
 * without the start of the program; memory grows from what it was at the first page. CPU is that of the whole program, its
 * start included. Neither the walk nor the loop beside it is held on one core.
 * @param {import('./run.mjs').Run} run
 * @param {{ origin: string }} catalog
 * @param {Record<string, string>} settings
 */
export async function measureWalk(run, catalog, settings) {
  await askCatalog(catalog, 'reset')
  const child = startSync(run, settings, null)
  const samples = []
  const sampling = new AbortController()
  const sampler = sampleMemory(child.pid, samples, sampling.signal)
  const ended = once(child, 'exit')
  const walks = await run.processes.readFirstLine(child)
  const endedAtMs = Date.now()
  const peakMb = readMemory(child.pid)?.peakMb
  const cpuSeconds = readCpuSeconds(child.pid)
  sampling.abort()
  await Promise.all([ended, sampler])
  const { firstCallAtMs, firstPageAtMs, pages, bytes } = await askCatalog(catalog, 'state')
  if (walks.length === 0 || walks.some(({ outcome }) => outcome !== 'complete'))
    throw new Error(`the walk failed: ${JSON.stringify(walks)}`)
  const seconds = (endedAtMs - firstCallAtMs) / 1e3
  const before = samples.findLast(({ atMs }) => atMs <= firstPageAtMs) ?? samples[0]
  const highest = Math.max(peakMb ?? 0, ...samples.map(({ rssMb }) => rssMb))
  const growthMb = before === undefined ? 0 : highest - before.rssMb
  const products = walks.reduce((sum, { productCount }) => sum + productCount, 0)
  const cpuUs = (cpuSeconds / products) * 1e6
  return {
    products,
    perSecond: products / seconds,
    seconds,
    cpuSeconds,
    cpuUs,
    pages,
    bytes,
    peakMb: highest,
    growthMb,
  }
}

async function sampleMemory(pid, samples, signal) {
  while (!signal.aborted) {
    const memory = readMemory(pid)
    if (memory !== null) samples.push({ atMs: Date.now(), rssMb: memory.rssMb })
    await wait(SAMPLE_MS, undefined, { signal }).catch(() => {})
  }
}

/**
 * Fetches and parses the same pages, and does nothing with them. `channelId` and `key`: of a catalog service.
 * @param {import('./run.mjs').Run} run
 * @param {{ origin: string, channelId?: string, key?: string }} catalog
 */
export async function measureFetchLoop(run, { origin, channelId = CHANNEL.id, key = 'bench' }) {
  const order = { command: run.options.nodePath, parameters: [LOOP, origin, channelId, key], cpus: null }
  const { products, seconds } = JSON.parse(await run.processes.run(order))
  return { perSecond: products / seconds, seconds }
}

/** Products that the last walk wrote into a copy. */
export function countWritten(database) {
  const [{ written }] = queryFile(
    database,
    'select count(*) as written from products where from_walk = (select max(current_walk) from copies)',
  )
  return Number(written)
}

/** Has a copy been walked whole? */
export function isWalked(database) {
  const [row] = queryFile(database, 'select max(current_walk) as walk from copies')
  return Number(row?.walk ?? 0) > 0
}
