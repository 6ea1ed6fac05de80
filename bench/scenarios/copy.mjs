import { measureLoad } from '../lib/load.mjs'
import { checkTarget } from '../lib/report.mjs'
import { runRounds, toLoadTable } from '../lib/rounds.mjs'
import { summarize } from '../lib/statistics.mjs'
import { listBoxPaths, startCatalog, startWalkedVitrine } from '../lib/vitrine.mjs'

const BOXES = 10_000
/** Far fewer cache entries than boxes, so that each box is rendered from the stored copy. */
const WITHOUT_CACHE = { VITRINE_CACHE_MAX_ENTRIES: '100' }

/** Boxes that are not in memory, as after a restart or after a walk that changed them. */
export const copy = {
  name: 'copy',
  about: 'boxes rendered from the stored copy, against Express + Eta with products in memory',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: BOXES })
    const vitrine = await startWalkedVitrine(run, catalog, { settings: WITHOUT_CACHE })
    const express = await run.startPeer('express-eta.mjs')
    const paths = listBoxPaths(0, BOXES)
    const measure = (server) => (seconds) => measureLoad(run, server, { paths, seconds, connections: 8 })
    const rounds = await runRounds(run, { Vitrine: measure(vitrine), 'Express + Eta': measure(express) })
    const cpuUs = summarize(rounds.Vitrine.map((round) => round.cpuUs))
    return {
      tables: [toLoadTable('Boxes from the stored copy, 8 connections', rounds)],
      targets: [checkTarget('CPU of a box', cpuUs, { atMost: 200, unit: ' µs', digits: 0 })],
      rounds,
    }
  },
}
