import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../../../src/database/sqlite.ts'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { type BuiltServer, startBuiltServer } from '../../helpers/built-server.ts'
import {
  CHANNEL_ID,
  FAKE_KEY,
  type FakeCatalog,
  makeWireOffer,
  makeWireProduct,
  startFakeCatalog,
} from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { type FaultProxy, type FaultMode, startFaultProxy } from '../includes/fault-proxy.ts'
import { type Running, findFreePort } from '../includes/program.ts'

/** A second channel, with the same products. */
export const OTHER_CHANNEL_ID = '11111111-2222-4333-8444-555555555555'

/** Number of products per channel, enough for a separate box per test. */
const PRODUCTS = 1_000

/** Number of servers behind the CDN. */
const REPLICAS = 3

/** A server behind the CDN, at its own port; its public URL is that of the CDN. */
export type Replica = BuiltServer & Readonly<{ port: number }>

/** Servers with one database and one catalog, each behind a fault proxy, and a folder for the CDN's files. */
export type CdnFixture = Readonly<{
  folder: string
  catalog: FakeCatalog
  servers: readonly Replica[]
  proxies: readonly FaultProxy[]
  /** Return a GTIN that no other test has requested. */
  nextGtin(): string
  /** Count the requests to the servers whose URL contains the text. */
  countRequests(text: string): number
  /** List the sub-ids with stored counts of a product. */
  readCountedSubs(gtin: string): readonly string[]
  setAllModes(mode: FaultMode): Promise<void>
  /** Call `FaultProxy.setMaxAge` for all servers. */
  setMaxAge(seconds: number | null, staleSeconds?: number, ifErrorSeconds?: number): void
  /** Stop a program with the fixture. */
  stopOnDispose<T extends Pick<Running, 'stop'>>(running: T): T
  dispose(): Promise<void>
}>

/** Create the fixture of a test file. Every server gets `settings`. */
export async function createCdnFixture(settings: Readonly<Record<string, string>> = {}): Promise<CdnFixture> {
  const catalog = await startFakeCatalog()
  catalog.channels.push({
    id: OTHER_CHANNEL_ID,
    name: 'Other',
    kind: 'website',
    url: 'https://other.example/',
  })
  for (const id of [CHANNEL_ID, OTHER_CHANNEL_ID]) catalog.products.set(id, makeProducts())
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-cdn-'))
  const remote = {
    VITRINE_CATALOG_URL: catalog.url,
    VITRINE_CATALOG_KEY: FAKE_KEY,
    VITRINE_DATABASE_URL: `sqlite:${join(folder, 'copy.db')}`,
    VITRINE_PUBLIC_URL: 'https://widgets.example',
    ...settings,
  }
  // The first server walks the channels; the others find its stored copy.
  const first = await startReplica(remote)
  const others = Array.from({ length: REPLICAS - 1 }, () => startReplica(remote))
  const servers = [first, ...(await Promise.all(others))]
  const proxies = await Promise.all(
    servers.map(({ port }) => startFaultProxy({ target: `http://127.0.0.1:${port}` })),
  )
  // Some programs serve as another user than the one that started them.
  await chmod(folder, 0o755)
  let usedCount = 0
  const programs: Pick<Running, 'stop'>[] = []
  return {
    folder,
    catalog,
    servers,
    proxies,
    nextGtin: () => toGtin(usedCount++),
    countRequests: (text) =>
      proxies.flatMap(({ requests }) => requests).filter(({ url }) => url.includes(text)).length,
    readCountedSubs: (gtin) => readCountedSubs(join(folder, 'copy.db'), gtin),
    async setAllModes(mode) {
      for (const proxy of proxies) await proxy.setMode(mode)
    },
    setMaxAge: (...ages) => proxies.forEach((proxy) => proxy.setMaxAge(...ages)),
    stopOnDispose(running) {
      programs.push(running)
      return running
    },
    async dispose() {
      for (const running of programs.toReversed()) await running.stop()
      for (const proxy of proxies) await proxy.stop()
      await Promise.all(servers.map((server) => server.stop()))
      await catalog.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function readCountedSubs(path: string, gtin: string): readonly string[] {
  const database = openSqlite({ path, role: 'reader' })
  try {
    const rows = database.prepare('select distinct sub from widget_counts where gtin = ?').all([gtin])
    return (rows as { sub: string }[]).map(({ sub }) => sub)
  } finally {
    database.close()
  }
}

async function startReplica(settings: Readonly<Record<string, string>>): Promise<Replica> {
  const port = await findFreePort()
  return { ...(await startBuiltServer({ ...settings, VITRINE_PORT: String(port) })), port }
}

function makeProducts(): ReturnType<typeof makeWireProduct>[] {
  const offers = [
    makeWireOffer(),
    makeWireOffer({ merchant: { name: 'Tweede' }, price: '59.90', old_price: '80.00' }),
  ]
  return Array.from({ length: PRODUCTS }, (_, index) => makeWireProduct({ gtin: toGtin(index), offers }))
}

/** Read a file of deploy/ and replace texts in it. Throws if a text is missing. */
export function readDeployFile(
  file: string,
  replacements: readonly (readonly [from: string, to: string])[],
): string {
  let text = readFileSync(join(PACKAGE_FOLDER, 'deploy', file), 'utf8')
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new Error(`deploy/${file} does not have: ${from}`)
    text = text.replaceAll(from, () => to)
  }
  return text
}

/** Return the path of a product's box. */
export const toBoxPath = (gtin: string, channelId: string = CHANNEL_ID): string =>
  `/fragments/${channelId}/where-to-buy/${gtin}`
