import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dropNodeHeaders, writeAnswer } from '../lib/bare.mjs'
import { toGtin } from '../lib/catalog-data.mjs'
import { importProducts, startService } from '../lib/catalog-service.mjs'
import { measureMost } from '../lib/load.mjs'
import { readMemory } from '../lib/proc.mjs'
import { judgeAtLeast, judgeAtMost, judgeByWrk, judgeOfMany } from '../lib/report.mjs'
import { computeRatio, runRounds, toRateTable, withCpu } from '../lib/rounds.mjs'
import { createRandom } from '../lib/statistics.mjs'
import { fetchAnswer } from '../lib/vitrine.mjs'

const SMALL = 10_000
const LARGE = 1_000_000

/** `--products` below this, its default, makes the large catalog smaller, to try the scenario; then nothing is judged. */
const USUAL_PRODUCTS = 100_000
const PAGE = 200

/** Look-ups that are asked for, all over the catalog. */
const LOOKUPS = 100_000

/** From this Node on `node:http` leaves more to what is behind it. */
const FASTER_HTTP_MAJOR = 22

/** A product of every shape has another length; this one is of the usual. */
const INDEX = 3

const [LOOK_UP, BARE, EXPRESS] = ['look-up', 'node:http', 'Express']

/** The catalog service of this program with ten thousand products and with a million. */
export const catalog = {
  name: 'catalog',
  about: 'the catalog service with 1,000,000 products: import, pages and look-ups',
  isBig: true,
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const small = await startWith(run, SMALL)
    const largeCount = run.options.products < USUAL_PRODUCTS ? run.options.products : LARGE
    const large = await startWith(run, largeCount)
    const pages = await measurePages(run, small, large)
    const lookups = await measureLookups(run, large)
    const imports = [small.imported, large.imported]
    return {
      tables: [
        toImportTable(imports),
        toRateTable(`Pages of ${PAGE} products, all over the catalog`, pages, nameSize(largeCount)),
        toRateTable('Look-ups, all over the catalog', lookups, LOOK_UP),
      ],
      promises: [
        ...judgeImports(large.imported),
        judgePages(pages, largeCount),
        judgeByWrk(run.tools, judgeLookups(run, lookups)),
      ].map((judged) => judgeOfMany(largeCount, judged)),
      notes: [
        'Imports run on one core where programs can be pinned, each once; products have two to six offers, four on average, and a walk by pages has found each of them exactly once.',
        'The service maps its file: what of it is in memory counts as the service\u2019s, and is given back to whoever needs it.',
        'A look-up is authenticated, counted against the daily limit and read from the database: nothing of its answer is kept.',
      ],
      rounds: { imports, pages, lookups },
      memoryMb: { 'after the load': readMemory(large.service.pid)?.rssMb ?? 0 },
    }
  },
}

const nameSize = (count) => `${count.toLocaleString('en')} products`

async function startWith(run, count) {
  const { settings, imported } = await importProducts(run, { count, cpus: run.cpus.server })
  run.say(`  ${nameSize(count)} imported in ${imported.seconds.toFixed(0)} s`)
  return { count, imported, service: await startService(run, settings, run.cpus.server) }
}

/** @returns rounds by the size of the catalog */
async function measurePages(run, ...sizes) {
  const subjects = {}
  for (const { count, service } of sizes) {
    const pathsFile = join(run.folder, `pages-${count}.txt`)
    writeFileSync(pathsFile, (await walk(service, count)).map((path) => `${path}\n`).join(''))
    subjects[nameSize(count)] = ask(run, service, pathsFile)
  }
  return runRounds(run, subjects)
}

/** Follows the cursors from page to page, as a client would, and gives the pages' paths in an order of chance. */
async function walk({ origin, channelId, headers }, count) {
  const paths = []
  let seen = 0
  let last = ''
  let query = ''
  for (;;) {
    const path = `/v0/channels/${channelId}/products?limit=${PAGE}${query}`
    const { items, next_cursor: cursor } = JSON.parse((await fetchAnswer(origin + path, headers)).bytes)
    if (items[0].gtin <= last) throw new Error('a page begins before the end of the one before')
    last = items.at(-1).gtin
    seen += items.length
    // The last page of a catalog may be short.
    if (items.length === PAGE) paths.push(path)
    if (cursor === null) break
    query = `&cursor=${cursor}`
  }
  if (seen !== count) throw new Error(`a walk found ${seen} of ${count} products`)
  const random = createRandom(5)
  return paths
    .map((path) => [random(), path])
    .toSorted(([one], [other]) => one - other)
    .map(([, path]) => path)
}

async function measureLookups(run, { count, service }) {
  const random = createRandom(11)
  const toPath = (index) => `/v0/channels/${service.channelId}/products/${toGtin(index)}`
  const paths = Array.from({ length: LOOKUPS }, () => toPath(Math.floor(random() * count)))
  const pathsFile = join(run.folder, 'look-ups.txt')
  writeFileSync(pathsFile, paths.map((path) => `${path}\n`).join(''))
  const answer = await fetchAnswer(service.origin + toPath(INDEX), service.headers)
  const file = writeAnswer(run, 'look-up', { ...answer, headers: dropNodeHeaders(answer.headers) })
  const subjects = { [LOOK_UP]: ask(run, service, pathsFile) }
  for (const [name, script] of [
    [BARE, 'node-http.mjs'],
    [EXPRESS, 'express.mjs'],
  ]) {
    const { origin, child } = await run.startPeer(script, [file])
    subjects[name] = withCpu(child.pid, (seconds) => measureMost(run, { url: `${origin}/box`, seconds }))
  }
  return runRounds(run, subjects)
}

function ask(run, { origin, headers, pid }, pathsFile) {
  return withCpu(pid, (seconds) => measureMost(run, { url: `${origin}/`, headers, pathsFile, seconds }))
}

function judgePages(rounds, count) {
  return judgeAtMost(`page at ${nameSize(count)}, of its time at ${nameSize(SMALL)}`, {
    value: 1 / computeRatio(rounds, { own: nameSize(count), peer: nameSize(SMALL) }),
    limit: 1.5,
  })
}

function judgeLookups(run, rounds) {
  const major = Number(/\d+/.exec(run.machine.node)?.[0])
  return judgeAtLeast('look-ups a second, of bare node:http with the same bytes', {
    value: computeRatio(rounds, { own: LOOK_UP, peer: BARE }),
    limit: major >= FASTER_HTTP_MAJOR ? 0.3 : 0.12,
  })
}

function judgeImports({ perSecond, peakMb }) {
  return [
    judgeAtLeast('products a second of an import, on one core', {
      value: perSecond,
      limit: 5_000,
      digits: 0,
    }),
    judgeAtMost('memory of an import at its peak', { value: peakMb, limit: 300, unit: ' MB', digits: 0 }),
  ]
}

function toImportTable(imports) {
  return {
    title: 'Imports of newline-delimited JSON',
    columns: ['', 'offers', 'seconds', 'products/s', 'peak MB'],
    rows: imports.map(({ products, offers, seconds, perSecond, peakMb }) => [
      nameSize(products),
      offers.toLocaleString('en'),
      seconds.toFixed(1),
      Math.round(perSecond),
      Math.round(peakMb),
    ]),
  }
}
