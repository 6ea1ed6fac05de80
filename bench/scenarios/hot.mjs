import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { measureLoad } from '../lib/load.mjs'
import { judge } from '../lib/report.mjs'
import { computeRatio, runRounds, toLoadTable } from '../lib/rounds.mjs'
import { fetchWarmBox, startCatalog, startWalkedVitrine, toBoxPath } from '../lib/vitrine.mjs'

/** Headers that Node writes by itself. */
const NODE_HEADERS = new Set(['date', 'connection', 'keep-alive'])

/** One warm box, over connections that stay open and over connections that close. */
export const hot = {
  name: 'hot',
  about: 'one warm box beside bare node:http with the same bytes and header array, and Express + Eta',
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

    const ask = (server, isClosing) => (seconds) => measureLoad(run, server, { paths, seconds, isClosing })
    const kept = await runRounds(run, {
      Vitrine: ask(vitrine, false),
      'node:http': ask(bare, false),
      'Express + Eta': ask(express, false),
    })
    const closing = await runRounds(run, { Vitrine: ask(vitrine, true), 'node:http': ask(bare, true) })
    const toPeer = { of: 'node:http', to: 'Vitrine', field: 'cpuUs' }
    return {
      tables: [
        toLoadTable(`A warm box of ${box.bytes.length} bytes, 32 connections`, kept),
        toLoadTable('The same, a connection for each request', closing),
      ],
      targets: [
        judge('warm box, of bare node:http', computeRatio(kept, toPeer), { atLeast: 0.95 }),
        judge('closing connections, of bare node:http', computeRatio(closing, toPeer), { atLeast: 0.95 }),
      ],
      rounds: { kept, closing },
    }
  },
}
