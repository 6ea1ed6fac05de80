import { setTimeout as wait } from 'node:timers/promises'
import { measureLoad } from '../lib/load.mjs'
import { readMemoryMb } from '../lib/proc.mjs'
import { checkTarget } from '../lib/report.mjs'
import {
  fetchWarmBox,
  listBoxPaths,
  startCatalog,
  startVitrine,
  startWalkedVitrine,
  createSettings,
} from '../lib/vitrine.mjs'
import { measureWalk } from '../lib/walks.mjs'

const BOXES = 10_000
/** A server without requests for this long is idle. */
const IDLE_MS = 5_000

/** Resident memory when idle, after a walk, and with warm boxes. The growth is compared with the size of the boxes. */
export const memory = {
  name: 'memory',
  about: 'resident memory when idle, after a walk of --products products, and with 10,000 warm boxes',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const { products } = run.options
    const catalog = await startCatalog(run, { count: products })
    const settings = createSettings(run, catalog)
    await measureWalk(run, catalog, settings)
    const started = await startVitrine(run, settings, { readyPath: '/readyz' })
    const idleMb = await readIdleMb(started)
    const paths = listBoxPaths(0, Math.min(BOXES, products))
    await measureLoad(run, started, { paths, seconds: 600, isOnce: true })
    const warmMb = await readIdleMb(started)
    const sizes = []
    for (const path of paths) sizes.push((await fetchWarmBox(`${started.origin}${path}`)).bytes.length)
    const boxesMb = sizes.reduce((sum, size) => sum + size, 0) / 1e6
    await run.stop(started.child)
    const walkedMb = await readIdleMb(await startWalkedVitrine(run, catalog))
    const rows = [
      ['idle, started with a copy', idleMb],
      ['idle, after a walk', walkedMb],
      [`with ${paths.length.toLocaleString('en')} warm boxes`, warmMb],
      ['size of these boxes', boxesMb],
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
        checkTarget('idle', idleMb, target),
        checkTarget('idle after a walk', walkedMb, target),
        checkTarget('growth by warm boxes, relative to their size', (warmMb - idleMb) / boxesMb, {
          atMost: 2.5,
          products,
        }),
      ],
      rounds: { idleMb, walkedMb, warmMb, boxesMb },
    }
  },
}

async function readIdleMb({ pid }) {
  await wait(IDLE_MS)
  return readMemoryMb(pid)
}
