import { measureLoad } from '../lib/load.mjs'
import { readMemoryMb } from '../lib/proc.mjs'
import { checkTarget } from '../lib/report.mjs'
import { computeRatio, runRounds, toLoadTable } from '../lib/rounds.mjs'
import { fetchWarmBox, startCatalog, startWalkedVitrine, toBoxPath } from '../lib/vitrine.mjs'

/** One core for the client and one for each worker. */
const NEEDED_CORES = 3
/** Enough visits for each worker to cache the box. */
const WARM_UP_VISITS = 20

/** Two workers against one. */
export const workers = {
  name: 'workers',
  about: 'the hot box with VITRINE_WORKERS=2, against 1',
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
    const target = checkTarget('two workers, relative to one', ratio, { atLeast: 1.6 })
    if (!hasCores) notes.push(`Not checked: this target needs ${NEEDED_CORES} cores.`)
    return {
      tables: [toLoadTable('One and two workers', rounds)],
      targets: [{ ...target, isMet: hasCores ? target.isMet : null }],
      notes,
      rounds,
    }
  },
}
