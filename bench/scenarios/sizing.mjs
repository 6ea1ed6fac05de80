import { setTimeout as wait } from 'node:timers/promises'
import { measureLoad } from '../lib/load.mjs'
import {
  WITHOUT_A_WALK,
  askCatalog,
  listBoxPaths,
  startCatalog,
  startVitrine,
  toBoxPath,
  toSettings,
} from '../lib/vitrine.mjs'
import { measureWalk } from '../lib/walks.mjs'

/** Boxes that are visited once each. */
const VISITS = 4_000
const CONNECTIONS = 8
const REST_MS = 1_000
/** What a visit costs is asked here, not how long it takes. */
const PATIENT = { VITRINE_VISITOR_TIMEOUT_MS: '8000' }

/** What views and products cost: the figures of docs/operate/sizing.md. It has no peer and judges nothing. */
export const sizing = {
  name: 'sizing',
  about: 'CPU per million views of each kind and per million products walked, on SQLite or --database',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const { products, database } = run.options
    const visits = Math.min(VISITS, Math.floor(products / 2))
    const catalog = await startCatalog(run, { count: products })
    const place = database === null ? {} : { VITRINE_DATABASE_URL: database }
    const settings = { ...toSettings(run, catalog), ...PATIENT, ...place }
    const visit = async (server, paths, order = { isOnce: true, seconds: 600 }) => {
      const { cpuUs } = await measureLoad(run, server, { paths, connections: CONNECTIONS, ...order })
      return cpuUs
    }
    const views = {}

    const empty = await startVitrine(run, { ...settings, ...WITHOUT_A_WALK })
    await visit(empty, listBoxPaths(0, visits))
    views['unknown: waited for a call'] = await visit(empty, listBoxPaths(visits, 2 * visits))
    await run.stop(empty.child)

    const walks = { 'first walk': await measureWalk(run, catalog, settings) }
    walks['nothing changed'] = await measureWalk(run, catalog, settings)
    await askCatalog(catalog, 'generation?value=1')
    walks['1 % changed'] = await measureWalk(run, catalog, settings)

    const walked = await startVitrine(run, settings)
    await visit(walked, listBoxPaths(0, visits))
    views['made from the copy'] = await visit(walked, listBoxPaths(visits, 2 * visits))
    await visit(walked, [toBoxPath(0)], { seconds: 1 })
    views.hot = await visit(walked, [toBoxPath(0)], { seconds: run.options.seconds })
    await run.stop(walked.child)

    const aged = await startVitrine(run, { ...settings, VITRINE_FRESH_SECONDS: '1' })
    await wait(REST_MS)
    views['old: sent, and refreshed by a call'] = await visit(aged, listBoxPaths(0, 2 * visits))
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
            perMillion(walk, walk.seconds),
            perMillion(walk, walk.cpuSeconds),
            perMillion(walk, walk.bytes / 1e6),
          ]),
        },
      ],
      targets: [],
      notes: [
        'CPU of the server or of the walk, the start of its program included; that of a database server is not.',
      ],
      rounds: { views, walks },
    }
  },
}

function perMillion({ products }, value) {
  return ((value / products) * 1e6).toFixed(0)
}
