import { measureLoad } from '../lib/load.mjs'
import { readMemoryMb } from '../lib/proc.mjs'
import { judge } from '../lib/report.mjs'
import { computeRatio, runRounds, toLoadTable } from '../lib/rounds.mjs'
import { fetchWarmBox, startCatalog, startWalkedVitrine, toBoxPath } from '../lib/vitrine.mjs'

/** One core for the client and one for each worker. */
const NEEDED_CORES = 3
/** Until each worker has the box in its own cache. */
const WARM_UP_VISITS = 20

/** Two workers beside one. */
export const workers = {
  name: 'workers',
  about: 'the hot box with VITRINE_WORKERS=2 beside 1',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: 200 })
    const hasCores = run.machine.cores >= NEEDED_CORES
    const path = toBoxPath(3)
    const subjects = {}
    const notes = []
    for (const count of [1, 2]) {
      const settings = { VITRINE_WORKERS: String(count) }
      const vitrine = await startWalkedVitrine(run, catalog, { settings, cpu: hasCores ? '1,2' : null })
      for (let visit = 0; visit < WARM_UP_VISITS; visit += 1) await fetchWarmBox(`${vitrine.origin}${path}`)
      const name = `${count} worker${count === 1 ? '' : 's'}`
      subjects[name] = (seconds) => measureLoad(run, vitrine, { paths: [path], seconds })
      notes.push(`Memory of ${name}: ${Math.round(readMemoryMb(vitrine.pid))} MB.`)
    }
    const rounds = await runRounds(run, subjects)
    const ratio = computeRatio(rounds, { of: '2 workers', to: '1 worker', field: 'perSecond' })
    const judged = judge('two workers, of one', ratio, { atLeast: 1.6 })
    if (!hasCores) notes.push(`Not judged: ${NEEDED_CORES} cores are needed.`)
    return {
      tables: [toLoadTable('One worker and two', rounds)],
      targets: [{ ...judged, holds: hasCores ? judged.holds : null }],
      notes,
      rounds,
    }
  },
}
