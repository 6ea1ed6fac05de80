import { fetchWarmAnswer } from '../lib/bare.mjs'
import { measureMost, measureRaw } from '../lib/load.mjs'
import { judgeAtLeast } from '../lib/report.mjs'
import { computeRatio, runRounds, toRateTable, withCpu } from '../lib/rounds.mjs'
import { fetchAnswer, startCatalog, startWalkedVitrine, toBoxUrl } from '../lib/vitrine.mjs'

/** Visitors who have the box already, and those who ask for its headers only. */
export const notModified = {
  name: 'not-modified',
  about: '304 and HEAD beside the same box sent whole',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: 200 })
    const vitrine = await startWalkedVitrine(run, catalog)
    const url = toBoxUrl(vitrine, 3)
    const { headers } = await fetchWarmAnswer(url)
    const known = { 'If-None-Match': headers.etag }
    const { status } = await fetchAnswer(url, known)
    if (status !== 304) throw new Error(`${url} answered ${status} to its own validator`)
    const rounds = await runRounds(run, {
      whole: withCpu(vitrine.pid, (seconds) => measureMost(run, { url, seconds })),
      304: withCpu(vitrine.pid, (seconds) => measureMost(run, { url, headers: known, seconds })),
    })
    const by = (method) => withCpu(vitrine.pid, (seconds) => measureRaw(run, { url, method, seconds }))
    const raw = await runRounds(run, {
      'GET, a client in JavaScript': by('GET'),
      'HEAD, a client in JavaScript': by('HEAD'),
    })
    const [get, head] = Object.keys(raw)
    return {
      tables: [
        toRateTable('The same box, whole and not modified', rounds, '304'),
        toRateTable('The same box by HEAD', raw, head),
      ],
      promises: [
        judgeAtLeast('304, of the hot box', {
          value: computeRatio(rounds, { own: '304', peer: 'whole' }),
          limit: 0.95,
        }),
        judgeAtLeast('HEAD, of the hot box', {
          value: computeRatio(raw, { own: head, peer: get }),
          limit: 0.95,
        }),
      ],
      rounds: { ...rounds, ...raw },
    }
  },
}
