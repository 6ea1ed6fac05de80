import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { SECOND_MS } from '../../../src/clock.ts'
import { startBuiltServer } from '../../helpers/built-server.ts'

const CHANNEL = '952a0000-0000-4000-8000-000000000001'
const GTIN = '09520001001024'
const REQUESTS = 1_000
/** About what Node takes by itself in 512 MB. */
const HEAP_MB = 256
const MAX_RESIDENT_MB = 450
/** Requests that one connection may send before it reads. */
const PIPELINED = 64
const UNREAD_MS: number = 3 * SECOND_MS

const WALL = `/embeds/${CHANNEL}/deals?limit=60`

/** Addresses that are not cached; `{n}` differs in each request. */
const COLD_PATHS: readonly string[] = [
  WALL,
  `${WALL}&heading=h{n}`,
  `${WALL}&sub=s{n}`,
  `/fragments/${CHANNEL}/deals?limit=60&heading=h{n}`,
  `/fragments/${CHANNEL}/deals?q=word{n}`,
  `/embeds/${CHANNEL}/where-to-buy/${GTIN}?heading=h{n}`,
  `/embeds/${CHANNEL}/where-to-buy/${GTIN}?heading=small&sub=s{n}`,
  `/fragments/${CHANNEL}/where-to-buy/${GTIN}?heading=h{n}&layout=table`,
  `/embeds/${CHANNEL}/picks/${GTIN},09520001001017?heading=h{n}`,
  `/data/${CHANNEL}/deals?limit=60&heading=h{n}`,
  `/feeds/${CHANNEL}/deals.atom?limit=60&heading=h{n}`,
  `/mail/${CHANNEL}/deals?limit=60&heading=h{n}`,
  `/oembed?url={origin}%2Fembeds%2F${CHANNEL}%2Fdeals%3Fheading%3Dh{n}`,
  `/accents/a{n}.css`,
  '/studio?limit={n}',
  '/studio/gallery?from={n}',
  '/openapi.json?n={n}',
]

type Flooded = Readonly<{ port: number; pid: number; toPath(pattern: string): string }>

async function startLimited(): Promise<Flooded> {
  const server = await startBuiltServer({
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    VITRINE_JSON: 'on',
    VITRINE_MAIL_NETWORKS: 'awin',
    VITRINE_LOG_LEVEL: 'fatal',
    // Floods meet the limit of the program.
    VITRINE_VISITOR_TIMEOUT_MS: undefined,
  })
  onTestFinished(() => server.stop())
  const { publicUrl, grid } = server.addresses
  const port = Number(new URL(publicUrl).port)
  const isWalked = async (): Promise<boolean> => (await fetchState(port, new URL(grid).pathname)) === 'shown'
  while (!(await isWalked())) await wait(SECOND_MS / 10)
  let count = 100_000
  const toPath = (pattern: string): string =>
    pattern.replaceAll('{n}', String((count += 1))).replace('{origin}', encodeURIComponent(publicUrl))
  return { port, pid: server.pid, toPath }
}

/** Return the state of a widget, or the status of another response; the error's code if there is none. */
function fetchState(port: number, path: string, agent?: Agent): Promise<string> {
  return new Promise((resolve) => {
    const options = { port, path, agent: agent ?? false, headers: { 'Accept-Encoding': 'br, gzip' } }
    get({ host: '127.0.0.1', ...options }, (response) => {
      response.resume()
      response.on('end', () => resolve(String(response.headers['vitrine-state'] ?? response.statusCode)))
    }).on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })
}

/** Return the largest resident memory since the last reset. */
function readPeakMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_000
}

/** Run a flood while another visitor asks for a box and the health; return the peak of memory and what the visitor got. */
async function measureFlood({ port, pid }: Flooded, flood: () => Promise<unknown>) {
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  const box = `/fragments/${CHANNEL}/where-to-buy/${GTIN}`
  const states = new Set<string>()
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  const over = new AbortController()
  const visitor = (async () => {
    while (!over.signal.aborted) {
      states.add(await fetchState(port, box, agent)).add(await fetchState(port, '/healthz', agent))
      await wait(SECOND_MS / 50)
    }
  })()
  await flood()
  over.abort()
  await visitor
  return { peakMb: readPeakMb(pid), states: [...states].sort() }
}

function openPipeline(port: number, paths: readonly string[], isReading: boolean): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (): void => void socket.destroy()
    let responses = 0
    socket.on('close', () => resolve()).on('error', () => {})
    if (isReading)
      socket.setEncoding('latin1').on('data', (chunk) => {
        responses += String(chunk).split('Vitrine-State: ').length - 1
        if (responses >= paths.length) end()
      })
    else void wait(UNREAD_MS).then(end)
    const headers = 'Host: x\r\nAccept-Encoding: br'
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\n${headers}\r\n\r\n`).join(''))
  })
}

const isLinux = process.platform === 'linux'

test.runIf(isLinux)(
  'a thousand requests at once for responses that are not cached - memory stays bounded, and others are served',
  async () => {
    const server = await startLimited()
    const { port, toPath } = server
    for (const pattern of COLD_PATHS) {
      const paths = Array.from({ length: REQUESTS }, () => toPath(pattern))
      const answers = new Set<string>()
      const { peakMb, states } = await measureFlood(server, () =>
        Promise.all(paths.map(async (path) => answers.add(await fetchState(port, path)))),
      )
      expect([pattern, states]).toEqual([pattern, ['200', 'shown']])
      expect([pattern, peakMb < MAX_RESIDENT_MB, peakMb]).toEqual([pattern, true, peakMb])
      // On a slow machine, the server may end connections that wait for long.
      expect(answers).not.toContain('ECONNREFUSED')
    }
  },
)

test.runIf(isLinux).each([
  ['16 connections with 64 pipelined requests', 16, true],
  ['200 connections with 64 requests that never read', 200, false],
] as const)('%s - memory stays bounded, and others are served', async (_name, connections, isReading) => {
  const server = await startLimited()
  const { port, toPath } = server
  const { peakMb, states } = await measureFlood(server, () =>
    Promise.all(
      Array.from({ length: connections }, () => {
        const paths = Array.from({ length: PIPELINED }, () => toPath(`${WALL}&heading=h{n}`))
        return openPipeline(port, paths, isReading)
      }),
    ),
  )
  expect(states).toEqual(['200', 'shown'])
  expect([peakMb < MAX_RESIDENT_MB, peakMb]).toEqual([true, peakMb])
})
