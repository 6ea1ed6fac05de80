import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { type RunningCommand, makeFolder, startBuilt, startRemoteCatalog } from '../../cli/run-cli.ts'
import { CHANNEL_ID, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { describeWithProgram, findFreePort, startProgram } from '../includes/program.ts'
import { startNameServer } from './name-server.ts'

const GTIN = toGtin(1)
const BOX = `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}`
/** Number of concurrent visitors, their pause between visits, and the minimum number of visits. */
const VISITORS = 4
const REST_MS = 10
const MIN_VISITS = 200

/** As in containers, each server has its own address (here in the loopback range), and all have the same port. */
const ADDRESSES = { 'vitrine-a': '127.0.0.2', 'vitrine-b': '127.0.0.3' } as const
type Name = keyof typeof ADDRESSES
const NAMES = Object.keys(ADDRESSES) as Name[]

/** The address of a recreated container. */
const OTHER_ADDRESS = '127.0.0.4'

/** Start HAProxy with deploy/compose/haproxy.cfg; only addresses and ports are replaced. */
async function startBalancer(port: number, addresses: ReadonlyMap<string, string>): Promise<string> {
  const nameServer = await startNameServer(addresses)
  onTestFinished(() => nameServer.close())
  const ownPort = await findFreePort()
  const replacements = [
    ['bind :8080', `bind 127.0.0.1:${ownPort}`],
    ['127.0.0.11:53', `127.0.0.1:${nameServer.port}`],
    [':3000', `:${port}`],
  ] as const
  let text = readFileSync(join(PACKAGE_FOLDER, 'deploy/compose/haproxy.cfg'), 'utf8')
  for (const [from, to] of replacements) {
    expect(text).toContain(from)
    text = text.replaceAll(from, to)
  }
  const file = join(makeFolder(), 'haproxy.cfg')
  writeFileSync(file, text)
  const program = await startProgram({ command: 'haproxy', args: ['-db', '-f', file], port: ownPort })
  onTestFinished(() => program.stop())
  return `http://127.0.0.1:${ownPort}`
}

async function createBalancerFixture() {
  const { catalog, settings } = await startRemoteCatalog(makeFolder())
  catalog.products.set(CHANNEL_ID, [makeWireProduct({ gtin: GTIN })])
  const port = await findFreePort()
  const addresses = new Map<Name, string>(Object.entries(ADDRESSES) as [Name, string][])
  const start = (name: Name): RunningCommand => {
    const ownSettings = { VITRINE_HOST: addresses.get(name), VITRINE_PORT: String(port) }
    return startBuilt(['serve', '--json'], { ...settings, ...ownSettings })
  }
  return { catalog, addresses, start, port, url: await startBalancer(port, addresses) }
}

async function fetchState(url: string): Promise<string> {
  const response = await fetch(`${url}${BOX}`)
  return `${response.status} ${response.headers.get('vitrine-state')} ${(await response.text()).length > 0}`
}

describeWithProgram('haproxy', 'the balancer of compose.yaml', () => {
  it('no server, then both, then each restarted - an article gets no box, then always the box', async () => {
    const { start, url, port } = await createBalancerFixture()
    expect(await fetchState(url)).toBe('200 unavailable false')
    expect((await fetch(url + BOX.replace('/fragments/', '/Fragments/'))).status).toBe(200)
    for (const path of ['/embed.js', '/other/fragments/']) expect((await fetch(url + path)).status).toBe(503)

    const servers = new Map(NAMES.map((name) => [name, start(name)]))
    await vi.waitFor(async () => expect(await fetchState(url)).toBe('200 shown true'))
    for (const name of NAMES)
      await vi.waitFor(async () =>
        expect((await fetch(`http://${ADDRESSES[name]}:${port}/readyz`)).status).toBe(200),
      )

    const stopController = new AbortController()
    const stateCounts = new Map<string, number>()
    const visit = async (): Promise<void> => {
      while (!stopController.signal.aborted) {
        const state = await fetchState(url)
        stateCounts.set(state, (stateCounts.get(state) ?? 0) + 1)
        await systemClock.wait(REST_MS)
      }
    }
    const allVisits = Promise.all(Array.from({ length: VISITORS }, visit))
    for (const name of NAMES) {
      expect((await servers.get(name)?.stop('SIGTERM'))?.code).toBe(0)
      const restarted = start(name)
      await restarted.firstLine
      await vi.waitFor(async () =>
        expect((await fetch(`http://${ADDRESSES[name]}:${port}/readyz`)).status).toBe(200),
      )
    }
    await vi.waitFor(() => expect(stateCounts.get('200 shown true')).toBeGreaterThan(MIN_VISITS))
    stopController.abort()
    await allVisits
    expect([...stateCounts.keys()]).toEqual(['200 shown true'])
  })

  it('a server that is not ready - responds, and an article gets an empty box instead of an error', async () => {
    const { catalog, start, url, port } = await createBalancerFixture()
    catalog.fault = { pathPattern: /./, respond: (request) => request.socket.destroy() }
    start('vitrine-a')
    await vi.waitFor(async () => expect((await fetch(`${url}/embed.js`)).status).toBe(200))
    expect(await fetchState(url)).toBe('200 unavailable false')
    expect((await fetch(`http://${ADDRESSES['vitrine-a']}:${port}/readyz`)).status).toBe(503)
  })

  it('a recreated container - with another address - is found there', async () => {
    const { addresses, start, url } = await createBalancerFixture()
    const first = start('vitrine-a')
    await vi.waitFor(async () => expect(await fetchState(url)).toBe('200 shown true'))
    await first.stop('SIGTERM')
    expect(await fetchState(url)).toBe('200 unavailable false')
    addresses.set('vitrine-a', OTHER_ADDRESS)
    start('vitrine-a')
    await vi.waitFor(async () => expect(await fetchState(url)).toBe('200 shown true'))
  })

  it('the database - is required in requests for boxes only while a server is connected to it', async () => {
    const port = await findFreePort()
    const requiredHeaders: unknown[] = []
    let isConnected = false
    for (const address of Object.values(ADDRESSES)) {
      const server = createServer(({ url, headers }, response) => {
        const required = headers['vitrine-require']
        if (url === BOX) requiredHeaders.push(required)
        const isRejected = !isConnected && (required === 'database' || url === '/readyz?require=database')
        response.writeHead(isRejected ? 503 : 200).end()
      }).listen(port, address)
      onTestFinished(() => void server.close())
      await once(server, 'listening')
    }
    const url = await startBalancer(port, new Map(Object.entries(ADDRESSES)))
    const visit = async (): Promise<unknown[]> => {
      requiredHeaders.length = 0
      await fetch(url + BOX, { headers: { 'Vitrine-Require': 'database' } })
      return [...requiredHeaders]
    }
    await vi.waitFor(async () => expect(await visit()).toEqual([undefined]))
    isConnected = true
    await vi.waitFor(async () => expect(await visit()).toEqual(['database']))
  })
})
