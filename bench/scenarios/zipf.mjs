import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Pool } from 'undici'
import { measureMost } from '../lib/load.mjs'
import { readMemory } from '../lib/proc.mjs'
import { judgeAtLeast } from '../lib/report.mjs'
import { computeRatio, runRounds, toRateTable, withCpu } from '../lib/rounds.mjs'
import { drawZipfRanks } from '../lib/statistics.mjs'
import { startCatalog, startWalkedVitrine, toBoxUrl } from '../lib/vitrine.mjs'

const BOXES = 10_000
const DRAWS = 100_000

/** Room for every box several times over. */
const ROOMY = { VITRINE_CACHE_MAX_ENTRIES: '200000', VITRINE_CACHE_MAX_BYTES: String(512 * 1024 ** 2) }

/** Ten thousand boxes, asked for as readers do: a few very often, most of them seldom. */
export const zipf = {
  name: 'zipf',
  about: '10,000 warm boxes by Zipf beside one hot box of the same server',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: BOXES })
    const asIs = await startWalkedVitrine(run, catalog, { count: BOXES })
    const roomy = await startWalkedVitrine(run, catalog, { count: BOXES, settings: ROOMY })
    const ranks = drawZipfRanks({ count: BOXES, draws: DRAWS, seed: 7 })
    const subjects = {}
    for (const [name, server] of Object.entries({ 'by default': asIs, 'with more room': roomy })) {
      // The most popular last: what does not fit is what is asked for least.
      await visitEach(
        server,
        Array.from({ length: BOXES }, (_, index) => BOXES - 1 - index),
      )
      const all = writePaths(run, server, { name: `all ${name}`, indexes: ranks })
      subjects[`10,000 boxes, ${name}`] = ask(run, server, all)
    }
    subjects['one box'] = ask(run, asIs, writePaths(run, asIs, { name: 'one', indexes: [0] }))
    const rounds = await runRounds(run, subjects)
    const value = computeRatio(rounds, { own: '10,000 boxes, by default', peer: 'one box' })
    return {
      tables: [toRateTable('Ten thousand warm boxes', rounds, '10,000 boxes, by default')],
      promises: [judgeAtLeast('10,000 boxes by Zipf, of one hot box', { value, limit: 0.8 })],
      rounds,
      memoryMb: {
        'by default': readMemory(asIs.pid)?.rssMb ?? 0,
        'with more room': readMemory(roomy.pid)?.rssMb ?? 0,
      },
    }
  },
}

function ask(run, server, pathsFile) {
  return withCpu(server.pid, (seconds) => measureMost(run, { url: toBoxUrl(server, 0), pathsFile, seconds }))
}

function writePaths(run, server, { name, indexes }) {
  const file = join(run.folder, `${name}.txt`)
  writeFileSync(file, indexes.map((index) => `${new URL(toBoxUrl(server, index)).pathname}\n`).join(''))
  return file
}

/** Visits each box once, over a few connections. */
async function visitEach(server, indexes) {
  const pool = new Pool(server.origin, { connections: 8 })
  const left = indexes[Symbol.iterator]()
  const visit = async () => {
    for (const index of left) {
      const { pathname } = new URL(toBoxUrl(server, index))
      const { statusCode, headers, body } = await pool.request({ method: 'GET', path: pathname })
      await body.dump()
      if (statusCode !== 200 || headers['vitrine-state'] !== 'shown')
        throw new Error(`${pathname} answered ${statusCode}, ${String(headers['vitrine-state'])}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, visit))
  await pool.close()
}
