import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Agent, request } from 'undici'
import { readMemoryMb } from '../lib/proc.mjs'
import { checkTarget } from '../lib/report.mjs'
import { computeMedian } from '../lib/statistics.mjs'
import { createDatabaseUrl, fetchResponse, toGridPath } from '../lib/vitrine.mjs'

/** Connections of a browser to one host. */
const CONNECTIONS = 6

/** Width that a browser chooses for a card of 240 pixels, by pixels of the screen per CSS pixel. */
const WIDTHS = { 'one pixel per CSS pixel': 320, 'two pixels per CSS pixel': 480 }

const KILOBYTE = 1_000

/** The pictures of a grid with 12 cards, as originals and through the proxy. */
export const pictures = {
  name: 'pictures',
  about: 'the pictures of a grid with 12 cards: originals of 1,500 pixels, against the picture proxy',
  /** @param {import('../lib/run.mjs').Run} run */
  async run(run) {
    const tls = createCertificate(run.folder)
    const shop = await run.startPeer('picture-shop.mjs', [JSON.stringify(tls)], run.cpu.client)
    const originals = JSON.parse((await fetchResponse(`${shop.origin}/originals`)).bytes)
    const agent = new Agent({
      connections: CONNECTIONS,
      connect: { ca: tls.certificate, lookup: lookUpLocally },
    })
    const rounds = []
    for (let round = 0; round < run.options.rounds; round += 1) {
      const direct = await fetchAll(
        agent,
        originals.map(({ address }) => address),
      )
      const proxied = {}
      for (const [name, width] of Object.entries(WIDTHS))
        proxied[name] = await measureProxy(run, { shop, tls, width })
      rounds.push({ direct, proxied })
      run.log(`  round ${round + 1} of ${run.options.rounds}`)
    }
    await agent.close()
    return toOutcome(rounds)
  },
}

/** Start a server with an empty folder of pictures, and load its grid twice. */
async function measureProxy(run, { shop, tls, width }) {
  const database = createDatabaseUrl(run)
  const options = { catalog: shop.origin, database, certificate: tls.certificate }
  const [server, directServer] = await Promise.all(
    ['proxy', 'direct'].map((mode) =>
      run.startPeer('picture-server.mjs', [
        JSON.stringify({
          ...options,
          pictures: mode,
          database: mode === 'proxy' ? database : createDatabaseUrl(run),
        }),
      ]),
    ),
  )
  const grids = await Promise.all([server, directServer].map(({ origin }) => fetchGrid(origin)))
  await run.stop(directServer.child)
  const paths = [...grids[0].html.matchAll(/srcset="([^"]+)"/g)].map(
    ([, srcset]) => new RegExp(`widgets\\.example(/pictures/\\w+/${width}) `).exec(srcset)?.[1],
  )
  const addresses = paths.map((path) => `${server.origin}${path}`)
  const agent = new Agent({ connections: CONNECTIONS })
  const idleMb = readMemoryMb(server.pid)
  const first = await fetchAll(agent, addresses)
  const stored = await fetchAll(agent, addresses)
  const peakMb = readMemoryMb(server.pid, 'VmHWM')
  await agent.close()
  await run.stop(server.child)
  rmSync(join(dirname(database.replace(/^sqlite:/, '')), 'pictures'), { recursive: true, force: true })
  return { first, stored, idleMb, peakMb, gridBytes: grids[0].bytes, directGridBytes: grids[1].bytes }
}

async function fetchGrid(origin) {
  const path = toGridPath().replace('/fragments/', '/embeds/')
  const { bytes } = await fetchResponse(`${origin}${path}`, { 'accept-encoding': 'br' })
  const { bytes: html } = await fetchResponse(`${origin}${path}`)
  return { bytes: bytes.length, html: html.toString() }
}

/** Fetch all pictures at once. @throws if one is a stand-in */
async function fetchAll(dispatcher, addresses) {
  const startedMs = performance.now()
  const sizes = await Promise.all(
    addresses.map(async (address) => {
      const { statusCode, headers, body } = await request(address, { dispatcher })
      const { byteLength } = await body.arrayBuffer()
      if (statusCode !== 200 || headers['content-type'] === 'image/png')
        throw new Error(`${address}: ${statusCode}, no picture`)
      return byteLength
    }),
  )
  return { ms: performance.now() - startedMs, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

function lookUpLocally(_hostname, { all }, callback) {
  if (all) callback(null, [{ address: '127.0.0.1', family: 4 }])
  else callback(null, '127.0.0.1', 4)
}

/** Create a certificate for the host of the originals; needs openssl. */
function createCertificate(folder) {
  const [keyFile, certificateFile] = ['key.pem', 'certificate.pem'].map((name) => join(folder, name))
  const details = [
    '-days',
    '2',
    '-subj',
    '/CN=pictures.example',
    '-addext',
    'subjectAltName=DNS:pictures.example',
  ]
  const output = ['-keyout', keyFile, '-out', certificateFile]
  const parameters = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...details, ...output]
  execFileSync('openssl', parameters, { stdio: 'ignore' })
  return { key: readFileSync(keyFile, 'utf8'), certificate: readFileSync(certificateFile, 'utf8') }
}

const toRow = (label, { bytes, ms }) => [label, Math.round(bytes / KILOBYTE), Math.round(ms)]

function toOutcome(rounds) {
  const getMedian = (read) => computeMedian(rounds.map(read))
  const direct = { bytes: getMedian(({ direct }) => direct.bytes), ms: getMedian(({ direct }) => direct.ms) }
  const names = Object.keys(WIDTHS)
  const readMedians = (name, phase) => ({
    bytes: getMedian(({ proxied }) => proxied[name][phase].bytes),
    ms: getMedian(({ proxied }) => proxied[name][phase].ms),
  })
  const readField = (field) => getMedian(({ proxied }) => proxied[names[0]][field])
  const savings = direct.bytes / readMedians(names[1], 'stored').bytes
  return {
    tables: [
      {
        title: 'Pictures of a grid with 12 cards, medians of the rounds',
        columns: ['', 'kB', 'ms for all'],
        rows: [
          toRow('originals of 1,500 pixels, from their host', direct),
          ...names.flatMap((name) => [
            toRow(`proxy, ${WIDTHS[name]} wide (${name}), first visitor`, readMedians(name, 'first')),
            toRow(`proxy, ${WIDTHS[name]} wide, stored`, readMedians(name, 'stored')),
          ]),
        ],
      },
      {
        title: 'The grid itself, and the memory of the server',
        columns: ['', 'direct', 'proxy'],
        rows: [
          ['document with Brotli, bytes', readField('directGridBytes'), readField('gridBytes')],
          [
            'memory in MB, before the first picture and at most',
            '',
            `${Math.round(readField('idleMb'))}, ${Math.round(readField('peakMb'))}`,
          ],
        ],
      },
    ],
    targets: [
      checkTarget('originals / proxy, bytes', savings, { atLeast: 5, digits: 1 }),
      checkTarget('grid of 12 in proxy mode', readField('gridBytes'), {
        atMost: 8_000,
        unit: ' bytes',
        digits: 0,
      }),
    ],
    rounds,
  }
}
