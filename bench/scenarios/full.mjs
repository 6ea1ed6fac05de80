import { setTimeout as wait } from 'node:timers/promises'
import { CHANNEL, toGtin } from '../lib/catalog-data.mjs'
import { measureLoad } from '../lib/load.mjs'
import { readMemoryMb } from '../lib/proc.mjs'
import { checkTarget } from '../lib/report.mjs'
import { drawZipfRanks } from '../lib/statistics.mjs'
import { startCatalog, startWalkedVitrine, toBoxPath } from '../lib/vitrine.mjs'

const PRODUCTS = 60_000
const DRAWS = 200_000
/** Long enough to fill the caches. */
const SECONDS = 20
const IDLE_MS = 5_000
/** As in the Dockerfiles and the systemd unit. */
const NODE_OPTIONS = '--max-old-space-size=256'

/** Resident memory with full caches: boxes, embeds, round-ups and grids of a large catalog, a third with ids of placements. */
export const full = {
  name: 'full',
  about: 'resident memory with full caches, with the heap limit of the manifests',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: PRODUCTS })
    const vitrine = await startWalkedVitrine(run, catalog, { settings: { NODE_OPTIONS } })
    const ranks = drawZipfRanks({ count: PRODUCTS, draws: DRAWS, seed: 7 })
    const load = (toPath, options) =>
      measureLoad(run, vitrine, { paths: ranks.map(toPath), seconds: SECONDS, ...options })
    await Promise.all([
      load((rank, index) => `${toBoxPath(rank)}${toSub(index)}`, { connections: 10 }),
      load((rank, index) => `/embeds/${CHANNEL.id}/where-to-buy/${toGtin(rank)}${toSub(index)}`, {
        connections: 4,
        headers: { 'Accept-Encoding': 'gzip, deflate, br' },
      }),
      load((rank) => `/fragments/${CHANNEL.id}/picks/${listGtins(rank).join(',')}`, { connections: 1 }),
      load(
        (rank) => `/fragments/${CHANNEL.id}/deals?min_discount=${10 + (rank % 12)}&limit=${4 + (rank % 9)}`,
        {
          connections: 1,
        },
      ),
    ])
    await wait(IDLE_MS)
    const [idleMb, peakMb] = [readMemoryMb(vitrine.pid), readMemoryMb(vitrine.pid, 'VmHWM')]
    const rows = [
      ['after the load', idleMb],
      ['highest', peakMb],
    ]
    return {
      tables: [
        {
          title: 'Resident memory with full caches',
          columns: ['', 'MB'],
          rows: rows.map(([name, mb]) => [name, mb.toFixed(1)]),
        },
      ],
      targets: [checkTarget('highest', peakMb, { atMost: 300, unit: ' MB', digits: 0 })],
      rounds: { idleMb, peakMb },
    }
  },
}

/** Return the query of an address: a third has the id of a placement. */
function toSub(index) {
  return index % 3 === 0 ? `?sub=placement-${index % 300}` : ''
}

/** Return the GTINs of a round-up of five products. */
function listGtins(rank) {
  return Array.from({ length: 5 }, (_, offset) => toGtin((rank + offset) % PRODUCTS))
}
