/**
 * `npm run bench`: a warm where-to-buy fragment beside named peers that send the same bytes, in alternating rounds of one
 * run. Only the ratios mean something: absolute numbers are those of the machine, its load, and a client in JavaScript.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { median, measure } from './load.mjs'
import { makeBoxView } from './view.mjs'

const ROUNDS = 5
const ROUND_MS = 2_000
const WARM_UP_MS = 1_000

const folder = mkdtempSync(join(tmpdir(), 'vitrine-bench-'))
const children = []

/** Starts a program and gives the first line of JSON that it prints. */
async function start(script, parameters, env = {}) {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const child = spawn(process.execPath, [path, ...parameters], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [line] = await once(createInterface(child.stdout), 'line')
  return JSON.parse(line)
}

try {
  const vitrine = await start('../dist/main.js', ['serve', '--json'], {
    VITRINE_PORT: '0',
    VITRINE_LOG_LEVEL: 'warn',
  })
  const boxUrl = vitrine.box.replace('/embeds/', '/fragments/')
  const answer = await request(boxUrl)
  const body = await answer.body.text()
  const { date: _date, connection: _connection, 'keep-alive': _keepAlive, ...headers } = answer.headers
  const file = join(folder, 'answer.json')
  writeFileSync(file, JSON.stringify({ headers, body, view: makeBoxView() }))

  const urls = { vitrine: boxUrl }
  for (const name of ['node:http', 'express', 'express+eta']) {
    const { port } = await start('peers.mjs', [name, file])
    urls[name] = `http://127.0.0.1:${port}/box`
  }
  const results = new Map(Object.keys(urls).map((name) => [name, []]))
  for (const url of Object.values(urls)) await measure(url, WARM_UP_MS)
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, url] of Object.entries(urls)) results.get(name).push(await measure(url, ROUND_MS))
  }
  print(results, Buffer.byteLength(body))
} finally {
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(children.map((child) => child.exitCode ?? once(child, 'exit')))
  rmSync(folder, { recursive: true, force: true })
}

function print(results, bytes) {
  const own = median(results.get('vitrine').map(({ perSecond }) => perSecond))
  process.stdout.write(
    `\nA warm box of ${bytes} bytes, Node ${process.version}, ${ROUNDS} alternating rounds, medians\n\n`,
  )
  process.stdout.write(
    '| peer | requests/s | p50 ms | p99 ms | vitrine / peer |\n| --- | ---: | ---: | ---: | ---: |\n',
  )
  for (const [name, rounds] of results) {
    const perSecond = median(rounds.map((round) => round.perSecond))
    const p50Ms = median(rounds.map((round) => round.p50Ms)).toFixed(2)
    const p99Ms = median(rounds.map((round) => round.p99Ms)).toFixed(2)
    const ratio = (own / perSecond).toFixed(2)
    process.stdout.write(`| ${name} | ${Math.round(perSecond)} | ${p50Ms} | ${p99Ms} | ${ratio} |\n`)
  }
}
