import { writeAnswer, fetchWarmAnswer } from '../lib/bare.mjs'
import { toGtin } from '../lib/catalog-data.mjs'
import { measureAtRate, measureMost } from '../lib/load.mjs'
import { readMemory } from '../lib/proc.mjs'
import { waitUntil } from '../lib/processes.mjs'
import { judgeAtLeast, judgeAtMost, judgeByWrk } from '../lib/report.mjs'
import { computeRatio, runRounds, toRateTable, withCpu } from '../lib/rounds.mjs'
import { computeFieldMedian } from '../lib/statistics.mjs'
import { makeBoxView } from '../lib/view.mjs'
import { fetchAnswer, startCatalog, startWalkedVitrine, toBoxUrl } from '../lib/vitrine.mjs'
import { startNginxCache, startNginxStatic } from '../peers/nginx.mjs'
import { startVarnish } from '../peers/varnish.mjs'

const PEERS = {
  'node:http': 'node-http.mjs',
  Express: 'express.mjs',
  'Express + Eta': 'express-eta.mjs',
  Fastify: 'fastify.mjs',
}

/** Which box is hot. */
const INDEX = 3

/** From this Node on Express itself is faster, and rendering is compared with another promise. */
const FASTER_EXPRESS_MAJOR = 22

/** One warm box beside every peer. */
export const hot = {
  name: 'hot',
  about: 'one warm box beside bare node:http, Express, Express + Eta, Fastify, nginx and Varnish',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const catalog = await startCatalog(run, { count: 200 })
    const vitrine = await startWalkedVitrine(run, catalog)
    const url = toBoxUrl(vitrine, INDEX)
    const answer = await fetchWarmAnswer(url)
    const box = answer.bytes.toString()
    const made = await makeBoxView(catalog, { gtin: toGtin(INDEX), publicUrl: vitrine.origin, box })
    const urls = { Vitrine: url }
    const pids = { Vitrine: vitrine.pid }
    const file = writeAnswer(run, 'hot', { ...answer, view: made.view })
    for (const [name, script] of Object.entries(PEERS)) {
      const { origin, child } = await run.startPeer(script, [file])
      urls[name] = `${origin}/box`
      pids[name] = child.pid
    }
    const notes = made.isSame ? [] : ['Express + Eta renders other bytes than Vitrine sends.']
    await startFronts(run, { vitrine, url, answer }, { urls, pids, notes })
    for (const address of Object.values(urls)) await checkBytes(address, answer.bytes, made.isSame)

    const subjects = Object.entries(urls).map(([name, address]) => [
      name,
      withCpu(pids[name], (seconds) => measureMost(run, { url: address, seconds })),
    ])
    const rounds = await runRounds(run, Object.fromEntries(subjects))
    const steady = await measureSteady(run, urls, computeFieldMedian(rounds['node:http'], 'perSecond') / 2)
    const tables = [
      toRateTable(`A warm box of ${answer.bytes.length} bytes`, rounds, 'Vitrine'),
      ...steady.tables,
    ]
    return {
      tables,
      promises: [...judge(run, rounds), ...steady.promises].map((judged) => judgeByWrk(run.tools, judged)),
      notes: [...notes, ...steady.notes],
      rounds: { most: rounds, steady: steady.rounds },
      memoryMb: { 'after the load': readMemory(vitrine.pid)?.rssMb ?? 0 },
    }
  },
}

/** Programs that stand before Node servers; what is not installed is named. */
async function startFronts(run, { vitrine, url, answer }, { urls, pids, notes }) {
  const fronts = {
    'nginx, a file': await startNginxStatic(run, answer),
    'nginx before Vitrine': await startNginxCache(run, vitrine.origin),
    'Varnish before Vitrine': await startVarnish(run, vitrine.origin),
  }
  for (const [name, front] of Object.entries(fronts)) {
    if (front === null) {
      notes.push(`${name}: not installed here, left out.`)
      continue
    }
    urls[name] = name === 'nginx, a file' ? `${front.origin}/box` : url.replace(vitrine.origin, front.origin)
    pids[name] = front.child.pid
    const isUp = async () => (await fetchAnswer(urls[name])).status === 200
    try {
      await waitUntil(isUp, { what: name, child: front.child })
    } catch (error) {
      delete urls[name]
      run.say(`  ${error.message}`)
      notes.push(`${name}: does not start here, left out.`)
    }
  }
  if (run.tools.wrk !== undefined && Object.values(fronts).some((front) => front !== null))
    notes.push('nginx and Varnish: one core of wrk is what ends their figures, not they themselves.')
}

async function checkBytes(address, bytes, mustBeSame) {
  const sent = await fetchAnswer(address)
  if (mustBeSame && !sent.bytes.equals(bytes)) throw new Error(`${address} sends other bytes than Vitrine`)
}

function judge(run, rounds) {
  const major = Number(/\d+/.exec(run.machine.node)?.[0])
  const limit = major >= FASTER_EXPRESS_MAJOR ? 1.6 : 3.5
  return [
    judgeAtLeast('of bare node:http', {
      value: computeRatio(rounds, { own: 'Vitrine', peer: 'node:http' }),
      limit: 0.9,
    }),
    judgeAtLeast('times Express + Eta', {
      value: computeRatio(rounds, { own: 'Vitrine', peer: 'Express + Eta' }),
      limit,
    }),
  ]
}

/** Latencies at a fixed rate, half of what the bare server can do at most. */
async function measureSteady(run, urls, perSecond) {
  if (run.tools.h2load === undefined)
    return {
      tables: [],
      promises: [],
      notes: ['Latency at a fixed rate: h2load is not installed here, left out.'],
    }
  const subjects = Object.fromEntries(
    ['Vitrine', 'node:http'].map((name) => [
      name,
      (seconds) => measureAtRate(run, { url: urls[name], perSecond, seconds }),
    ]),
  )
  const rounds = await runRounds(run, subjects)
  const title = `The same box at ${Math.round(perSecond)} requests a second`
  const value = computeRatio(rounds, { own: 'Vitrine', peer: 'node:http', field: 'p99Ms' })
  return {
    tables: [toSteadyTable(title, rounds)],
    promises: [judgeAtMost('p99 at half of the bare rate, of bare node:http', { value, limit: 1.5 })],
    notes: [],
    rounds,
  }
}

/** The rate is given; what is judged is how late answers come. */
function toSteadyTable(title, rounds) {
  const { columns, rows } = toRateTable(title, rounds, 'Vitrine')
  const find = (peer) => computeRatio(rounds, { own: 'Vitrine', peer, field: 'p99Ms' }).toFixed(2)
  return {
    title,
    columns: [...columns.slice(0, -1), 'p99 of Vitrine / this'],
    rows: rows.map((cells) => [...cells.slice(0, -1), cells[0] === 'Vitrine' ? '' : find(cells[0])]),
  }
}
