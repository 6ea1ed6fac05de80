import { setTimeout as wait } from 'node:timers/promises'
import { measureLoad } from '../lib/load.mjs'
import { readMemoryMb } from '../lib/proc.mjs'
import { judge } from '../lib/report.mjs'
import {
  fetchWarmBox,
  listBoxPaths,
  startCatalog,
  startVitrine,
  startWalkedVitrine,
  toSettings,
} from '../lib/vitrine.mjs'
import { measureWalk } from '../lib/walks.mjs'

const BOXES = 10_000
/** A server that nobody asked for so long is at rest. */
const REST_MS = 5_000

/** Resident memory at rest, after a walk, and with warm boxes. Its peer is what the boxes take as bytes. */
export const memory = {
  name: 'memory',
  about: 'memory at rest, after a walk of --products products, and with 10,000 warm boxes',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const { products } = run.options
    const catalog = await startCatalog(run, { count: products })
    const settings = toSettings(run, catalog)
    await measureWalk(run, catalog, settings)
    const started = await startVitrine(run, settings, { readyPath: '/readyz' })
    const restMb = await readAtRest(started)
    const paths = listBoxPaths(0, Math.min(BOXES, products))
    await measureLoad(run, started, { paths, seconds: 600, isOnce: true })
    const warmMb = await readAtRest(started)
    const sizes = []
    for (const path of paths) sizes.push((await fetchWarmBox(`${started.origin}${path}`)).bytes.length)
    const boxesMb = sizes.reduce((sum, size) => sum + size, 0) / 1e6
    await run.stop(started.child)
    const walkedMb = await readAtRest(await startWalkedVitrine(run, catalog))
    const rows = [
      ['at rest, started with a copy', restMb],
      ['at rest, after a walk', walkedMb],
      [`with ${paths.length.toLocaleString('en')} warm boxes`, warmMb],
      ['their bytes', boxesMb],
    ]
    const target = { atMost: 130, unit: ' MB', digits: 0, products }
    return {
      tables: [
        {
          title: 'Resident memory',
          columns: ['', 'MB'],
          rows: rows.map(([name, mb]) => [name, mb.toFixed(1)]),
        },
      ],
      targets: [
        judge('at rest', restMb, target),
        judge('at rest after a walk', walkedMb, target),
        judge('growth by warm boxes, of their bytes', (warmMb - restMb) / boxesMb, { atMost: 2.5, products }),
      ],
      rounds: { restMb, walkedMb, warmMb, boxesMb },
    }
  },
}

async function readAtRest({ pid }) {
  await wait(REST_MS)
  return readMemoryMb(pid)
}
