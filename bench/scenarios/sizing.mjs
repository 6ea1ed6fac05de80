import { setTimeout as wait } from 'node:timers/promises'
import { measureLoad } from '../lib/load.mjs'
import {
  WITHOUT_WALKS,
  controlCatalog,
  listBoxPaths,
  startCatalog,
  startVitrine,
  toBoxPath,
  createSettings,
} from '../lib/vitrine.mjs'
import { measureWalk } from '../lib/walks.mjs'

/** Number of boxes, each visited once. */
const VISITS = 4_000
const CONNECTIONS = 8
/** Wait after the start until the stored copy is older than VITRINE_FRESH_SECONDS=1. */
const STALE_AFTER_MS = 1_000

/** Cost of views and products, for docs/operate/sizing.md. It has no peer and no target. */
export const sizing = {
  name: 'sizing',
  about: 'CPU per million views of each kind and per million products walked, on SQLite or --database',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const { products, database } = run.options
    const visits = Math.min(VISITS, Math.floor(products / 2))
    const catalog = await startCatalog(run, { count: products })
    const databaseSettings = database === null ? {} : { VITRINE_DATABASE_URL: database }
    const settings = { ...createSettings(run, catalog), ...databaseSettings }
    const visit = async (server, paths, load = { isOnce: true, seconds: 600 }) => {
      const { cpuUs } = await measureLoad(run, server, { paths, connections: CONNECTIONS, ...load })
      return cpuUs
    }
    const views = {}

    const empty = await startVitrine(run, { ...settings, ...WITHOUT_WALKS })
    await visit(empty, listBoxPaths(0, visits))
    views['unknown, waits for a call'] = await visit(empty, listBoxPaths(visits, 2 * visits))
    await run.stop(empty.child)

    const walks = { 'first walk': await measureWalk(run, catalog, settings) }
    walks['nothing changed'] = await measureWalk(run, catalog, settings)
    await controlCatalog(catalog, 'generation?value=1')
    walks['1 % changed'] = await measureWalk(run, catalog, settings)

    const walked = await startVitrine(run, settings)
    await visit(walked, listBoxPaths(0, visits))
    views['made from the copy'] = await visit(walked, listBoxPaths(visits, 2 * visits))
    await visit(walked, [toBoxPath(0)], { seconds: 1 })
    views.hot = await visit(walked, [toBoxPath(0)], { seconds: run.options.seconds })
    await run.stop(walked.child)

    const aged = await startVitrine(run, { ...settings, VITRINE_FRESH_SECONDS: '1' })
    await wait(STALE_AFTER_MS)
    views['stale, refreshed in the background'] = await visit(aged, listBoxPaths(0, 2 * visits))
    return {
      tables: [
        {
          title: 'A million views that reach a server',
          columns: ['', 'CPU s'],
          rows: Object.entries(views).map(([name, cpuUs]) => [name, cpuUs.toFixed(0)]),
        },
        {
          title: `A walk of a million products, from walks of ${products.toLocaleString('en')}`,
          columns: ['', 'seconds', 'CPU s', 'MB fetched'],
          rows: Object.entries(walks).map(([name, walk]) => [
            name,
            toPerMillion(walk, walk.seconds),
            toPerMillion(walk, walk.cpuSeconds),
            toPerMillion(walk, walk.bytes / 1e6),
          ]),
        },
      ],
      targets: [],
      notes: [
        'CPU of the server or the walk, including the start of the program, without the database server.',
      ],
      rounds: { views, walks },
    }
  },
}

function toPerMillion({ products }, value) {
  return ((value / products) * 1e6).toFixed(0)
}
