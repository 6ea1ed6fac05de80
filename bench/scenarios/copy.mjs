import { measureLoad } from '../lib/load.mjs'
import { judge } from '../lib/report.mjs'
import { runRounds, toLoadTable } from '../lib/rounds.mjs'
import { summarize } from '../lib/statistics.mjs'
import { listBoxPaths, startCatalog, startWalkedVitrine } from '../lib/vitrine.mjs'

const BOXES = 10_000
/** Far fewer cached boxes than are asked for: each one is made from the stored copy. */
const WITHOUT_A_CACHE = { VITRINE_CACHE_MAX_ENTRIES: '100' }

/** Boxes that are not in memory: after a restart, or after a walk that changed them. */
export const copy = {
  name: 'copy',
  about: 'boxes made from the stored copy, beside Express + Eta that renders from memory',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: BOXES })
    const vitrine = await startWalkedVitrine(run, catalog, { settings: WITHOUT_A_CACHE })
    const express = await run.startPeer('express-eta.mjs')
    const paths = listBoxPaths(0, BOXES)
    const ask = (server) => (seconds) => measureLoad(run, server, { paths, seconds, connections: 8 })
    const rounds = await runRounds(run, { Vitrine: ask(vitrine), 'Express + Eta': ask(express) })
    const cpuUs = summarize(rounds.Vitrine.map((round) => round.cpuUs))
    return {
      tables: [toLoadTable('Boxes from the stored copy, 8 connections', rounds)],
      targets: [judge('CPU of a box', cpuUs, { atMost: 200, unit: ' µs', digits: 0 })],
      rounds,
    }
  },
}
