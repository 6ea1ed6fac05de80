import { once } from 'node:events'
import { readCpuSeconds, readMemoryMb } from './proc.mjs'
import { readFirstLine } from './run.mjs'
import { MAIN, controlCatalog } from './vitrine.mjs'

/**
 * Walk the catalog with `vitrine sync`. The time is from the first catalog call to the line printed at the end, without the
 * start of the program. The CPU time is that of the whole program, which is not pinned to a core.
 * @param {import('./run.mjs').Run} run
 */
export async function measureWalk(run, catalog, settings) {
  await controlCatalog(catalog, 'reset')
  const child = run.start([MAIN, 'sync', '--json'], { env: settings })
  const ended = once(child, 'exit')
  const walks = await readFirstLine(child)
  const endedAtMs = Date.now()
  const [cpuSeconds, peakMb] = [readCpuSeconds(child.pid), readMemoryMb(child.pid, 'VmHWM')]
  await ended
  if (walks.length === 0 || walks.some(({ outcome }) => outcome !== 'complete'))
    throw new Error(`the walk failed: ${JSON.stringify(walks)}`)
  const { firstCallAtMs, bytes } = await controlCatalog(catalog, 'state')
  const products = walks.reduce((sum, { productCount }) => sum + productCount, 0)
  const seconds = (endedAtMs - firstCallAtMs) / 1e3
  const cpuUs = (cpuSeconds / products) * 1e6
  return { products, seconds, perSecond: products / seconds, cpuSeconds, cpuUs, peakMb, bytes }
}
