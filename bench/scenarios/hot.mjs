import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { measureLoad } from '../lib/load.mjs'
import { checkTarget } from '../lib/report.mjs'
import { computeRatio, runRounds, toLoadTable } from '../lib/rounds.mjs'
import { fetchWarmBox, startCatalog, startWalkedVitrine, toBoxPath } from '../lib/vitrine.mjs'

/** Data are stale after a second. The daily limit suffices for the walk and one refresh. */
const STALE = { VITRINE_FRESH_SECONDS: '1', VITRINE_CATALOG_DAILY_LIMIT: '4' }
const LONGER_THAN_FRESH_MS = 1_500

/** Headers that Node adds itself. */
const NODE_HEADERS = new Set(['date', 'connection', 'keep-alive'])

/** One warm box, with persistent connections and with a connection for each request. */
export const hot = {
  name: 'hot',
  about:
    'one warm box, fresh and stale, against bare node:http with the same bytes and headers, and Express + Eta',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: 200 })
    const vitrine = await startWalkedVitrine(run, catalog)
    const paths = [toBoxPath(3)]
    const box = await fetchWarmBox(`${vitrine.origin}${paths[0]}`)
    const file = join(run.folder, 'box.json')
    const headers = Object.entries(box.headers).filter(([name]) => !NODE_HEADERS.has(name))
    writeFileSync(file, JSON.stringify({ headers: headers.flat(), body: box.bytes.toString('base64') }))
    const bare = await run.startPeer('node-http.mjs', [file])
    const express = await run.startPeer('express-eta.mjs')

    const measure = (server, isClosing) => (seconds) =>
      measureLoad(run, server, { paths, seconds, isClosing })
    const persistent = await runRounds(run, {
      Vitrine: measure(vitrine, false),
      'node:http': measure(bare, false),
      'Express + Eta': measure(express, false),
    })
    const closing = await runRounds(run, {
      Vitrine: measure(vitrine, true),
      'node:http': measure(bare, true),
    })
    const stale = await startWalkedVitrine(run, catalog, { settings: STALE })
    // The first request uses the refresh up.
    for (let requests = 0; requests < 2; requests += 1) {
      await wait(LONGER_THAN_FRESH_MS)
      await fetchWarmBox(`${stale.origin}${paths[0]}`)
    }
    const old = await runRounds(run, { fresh: measure(vitrine, false), stale: measure(stale, false) })
    const toPeer = { of: 'node:http', to: 'Vitrine', field: 'cpuUs' }
    return {
      tables: [
        toLoadTable(`A warm box of ${box.bytes.length} bytes, 32 connections`, persistent),
        toLoadTable('The same box, a connection for each request', closing),
        toLoadTable('The same box, fresh, and stale while no call is allowed', old),
      ],
      targets: [
        checkTarget('warm box, relative to bare node:http', computeRatio(persistent, toPeer), {
          atLeast: 0.95,
        }),
        checkTarget(
          'a connection for each request, relative to bare node:http',
          computeRatio(closing, toPeer),
          { atLeast: 0.95 },
        ),
        checkTarget(
          'stale box while no call is allowed, relative to a fresh one',
          computeRatio(old, { of: 'stale', to: 'fresh', field: 'cpuUs' }),
          { atMost: 1.2 },
        ),
      ],
      rounds: { persistent, closing, old },
    }
  },
}
