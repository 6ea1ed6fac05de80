import { type ServerResponse, createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { MINUTE_MS, SECOND_MS } from '../../../src/clock.ts'
import { type RunningCommand, makeFolder, makeSettings, runBuilt, startBuilt } from '../../cli/run-cli.ts'
import { usePostgres } from '../../helpers/postgres.ts'

const CHANNEL = '952a0000-0000-4000-8000-00000000000a'

const server = usePostgres()

type Shop = Readonly<{ shop: string; gtin: string }>

/** Two networks; Kopje is in two of the three feeds. */
const FEEDS: Readonly<Record<string, readonly Shop[]>> = {
  'awin-main': [
    { shop: 'Kopje', gtin: '00000000000017' },
    { shop: 'Maison', gtin: '00000000000024' },
  ],
  'awin-kopje': [{ shop: 'Kopje', gtin: '00000000000031' }],
  cj: [{ shop: 'Novabruck', gtin: '00000000000048' }],
}

function toRows(shops: readonly Shop[], network: string): string {
  const rows = shops.map(({ shop, gtin }) => ({
    gtin,
    title: 'Lamp',
    offers: [
      {
        merchant: { name: shop },
        network,
        price: '10.00',
        currency: 'EUR',
        availability: 'in_stock',
        affiliate_url: `https://track.example/${shop}/${gtin}`,
      },
    ],
  }))
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('')
}

/** Wait twice as long as `vi.waitFor` does: a killed run is tried again after a minute. */
const waitFor = (check: () => Promise<void>): Promise<void> =>
  vi.waitFor(check, { interval: SECOND_MS }).catch(() => vi.waitFor(check, { interval: SECOND_MS }))

/** Serve the feeds. The first response of `slow` never ends. */
async function startFeedServer(): Promise<{ url: string; requests: string[] }> {
  const requests: string[] = []
  const open = new Set<ServerResponse>()
  const feedServer = createServer((request, response) => {
    const name = request.url?.slice(1) ?? ''
    const isFirst = !requests.includes(name)
    requests.push(name)
    if (name === 'slow' && isFirst) {
      open.add(response.writeHead(200))
      response.write('{"gtin":')
      return
    }
    response.end(toRows(FEEDS[name] ?? [{ shop: 'Slow', gtin: '00000000000055' }], name.slice(0, 4)))
  })
  feedServer.listen(0, '127.0.0.1')
  await once(feedServer, 'listening')
  onTestFinished(() => {
    for (const response of open) response.destroy()
    feedServer.close()
  })
  return { url: `http://127.0.0.1:${(feedServer.address() as AddressInfo).port}`, requests }
}

test(
  'two servers on one PostgreSQL database - each feed is fetched once, and again after a kill in the middle',
  { timeout: 6 * MINUTE_MS },
  async () => {
    const { url: database } = await server.makeDatabase()
    const settings = makeSettings(makeFolder(), {
      VITRINE_DATABASE_URL: database,
      VITRINE_CATALOG_DATABASE_URL: database,
      VITRINE_LOG_LEVEL: 'info',
    })
    const catalog = async (...args: string[]): Promise<string> => {
      const { code, out, err } = await runBuilt(['catalog', ...args], settings)
      expect(code, err).toBe(0)
      return out
    }
    const { url, requests } = await startFeedServer()
    for (const name of Object.keys(FEEDS))
      await catalog('feeds', 'add', name, '--url', `${url}/${name}`, '--channel', CHANNEL)
    const servers = [startBuilt(['serve'], settings), startBuilt(['serve'], settings)]
    const readStatuses = async (): Promise<string> => {
      const states = JSON.parse(await catalog('feeds', 'list', '--json')) as {
        name: string
        status: string
      }[]
      return states.map(({ name, status }) => `${name} ${status}`).join(', ')
    }
    await waitFor(async () => expect(await readStatuses()).toBe('awin-kopje ok, awin-main ok, cj ok'))
    expect(requests.toSorted()).toEqual(Object.keys(FEEDS).toSorted())

    await catalog('feeds', 'add', 'slow', '--url', `${url}/slow`, '--channel', CHANNEL, '--every', '5m')
    await waitFor(() => Promise.resolve(expect(requests).toContain('slow')))
    const [killed, other] = await findRunning(servers, database)
    await killed.stop('SIGKILL')
    await waitFor(async () => expect(await readStatuses()).toContain('slow ok'))
    expect(other.output()).toContain('"feed":"slow"')
    expect(requests.filter((name) => name === 'slow')).toHaveLength(2)
    expect(requests.filter((name) => name !== 'slow')).toHaveLength(3)
    expect((await other.stop('SIGTERM')).code).toBe(0)
  },
)

/** Return the server that runs a feed now, and the other one. */
async function findRunning(
  servers: readonly RunningCommand[],
  database: string,
): Promise<readonly [RunningCommand, RunningCommand]> {
  const [row] = await server.run(
    database,
    'select lease_owner from vitrine_catalog.feed_attempts where lease_until_ms > 0',
  )
  const [, pid] = String(row?.['lease_owner']).split(' ')
  const [first, second] = servers as readonly [RunningCommand, RunningCommand]
  return String(first.child.pid) === pid ? [first, second] : [second, first]
}
