import { fetchWarmAnswer, startBare } from '../lib/bare.mjs'
import { measureMost } from '../lib/load.mjs'
import { readMemory } from '../lib/proc.mjs'
import { computeRatio, runRounds } from '../lib/rounds.mjs'
import { computeFieldMedian } from '../lib/statistics.mjs'
import { startCatalog, startWalkedVitrine, toBoxUrl, toGridUrl } from '../lib/vitrine.mjs'

const ENCODINGS = {
  plain: {},
  gzip: { 'Accept-Encoding': 'gzip' },
  brotli: { 'Accept-Encoding': 'gzip, deflate, br' },
}

/** Boxes as documents of frames. */
export const embeds = {
  name: 'embeds',
  about: 'embedded boxes, plain, gzip and brotli, beside bare node:http',
  run: (run) =>
    compare(run, 'Embedded boxes', (vitrine) => listEncoded('box', toBoxUrl(vitrine, 3, 'embeds'))),
}

/** Deal grids, as fragments and as documents of frames. */
export const grids = {
  name: 'grids',
  about: 'warm deal grids beside bare node:http',
  run: (run) =>
    compare(run, 'Deal grids', (vitrine) => [
      { name: 'fragment', url: toGridUrl(vitrine), headers: {} },
      { name: 'embed, brotli', url: toGridUrl(vitrine, 'embeds'), headers: ENCODINGS.brotli },
    ]),
}

function listEncoded(what, url) {
  return Object.entries(ENCODINGS).map(([name, headers]) => ({ name: `${what}, ${name}`, url, headers }))
}

/** Each answer of Vitrine beside a bare server that sends its bytes and headers. */
async function compare(run, title, list) {
  const catalog = await startCatalog(run, { count: 1_000 })
  const vitrine = await startWalkedVitrine(run, catalog, { count: 1_000 })
  const cases = list(vitrine)
  const subjects = {}
  for (const [place, { name, url, headers }] of cases.entries()) {
    const answer = await fetchWarmAnswer(url, headers)
    cases[place].bytes = answer.bytes.length
    const bare = await startBare(run, `same-${place}`, answer)
    subjects[name] = (seconds) => measureMost(run, { url, headers, seconds })
    subjects[`${name}: bare`] = (seconds) => measureMost(run, { url: bare.url, headers, seconds })
  }
  // Nothing is judged here: half the time will do.
  const rounds = await runRounds(run, subjects, { seconds: run.options.seconds / 2 })
  const rows = cases.map(({ name, bytes }) => [
    name,
    bytes,
    Math.round(computeFieldMedian(rounds[name], 'perSecond')),
    Math.round(computeFieldMedian(rounds[`${name}: bare`], 'perSecond')),
    computeRatio(rounds, { own: name, peer: `${name}: bare` }).toFixed(2),
    computeFieldMedian(rounds[name], 'p99Ms').toFixed(2),
  ])
  return {
    tables: [
      { title, columns: ['', 'bytes', 'requests/s', 'bare node:http', 'Vitrine / bare', 'p99 ms'], rows },
    ],
    rounds,
    memoryMb: { 'after the load': readMemory(vitrine.pid)?.rssMb ?? 0 },
  }
}
