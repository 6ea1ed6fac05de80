import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'
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

/** Products of each channel: an address for each test. */
const PRODUCTS = 1_000

/** How many servers stand behind. */
const REPLICAS = 3

/** A server behind, at its own port: its public address is that of the front. */
export type Replica = BuiltServer & Readonly<{ port: number }>

/** Real servers with one store over one catalog, each behind a gate that may fail, and a folder for the front's files. */
export type CdnFixture = Readonly<{
  folder: string
  catalog: FakeCatalog
  servers: readonly Replica[]
  gates: readonly FaultProxy[]
  /** A GTIN that no other test has asked for. */
  nextGtin(): string
  /** How often the servers were asked for addresses that hold the text. */
  countRequests(text: string): number
  setAllModes(mode: FaultMode): Promise<void>
  /** As `Gate.setMaxAge`, for all. */
  setMaxAge(seconds: number | null, staleSeconds?: number, ifErrorSeconds?: number): void
  /** Ends with the place. */
  stopOnDispose<T extends Pick<Running, 'stop'>>(running: T): T
  dispose(): Promise<void>
}>

/** Opens a place, for a whole test file. `settings` go to every server. */
export async function createCdnFixture(settings: Readonly<Record<string, string>> = {}): Promise<CdnFixture> {
  const catalog = await startFakeCatalog()
  catalog.channels.push({
    id: OTHER_CHANNEL_ID,
    name: 'Other',
    kind: 'website',
    url: 'https://other.example/',
  })
  for (const id of [CHANNEL_ID, OTHER_CHANNEL_ID]) catalog.products.set(id, makeProducts())
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-front-'))
  const remote = {
    VITRINE_CATALOG_URL: catalog.url,
    VITRINE_CATALOG_KEY: FAKE_KEY,
    VITRINE_DATABASE_URL: `sqlite:${join(folder, 'copy.db')}`,
    VITRINE_PUBLIC_URL: 'https://widgets.example',
    ...settings,
  }
  // The first one walks; the others find a copy.
  const first = await startReplica(remote)
  const others = Array.from({ length: REPLICAS - 1 }, () => startReplica(remote))
  const servers = [first, ...(await Promise.all(others))]
  const gates = await Promise.all(
    servers.map(({ port }) => startFaultProxy({ target: `http://127.0.0.1:${port}` })),
  )
  // Some programs answer as another user than the one who started them.
  await chmod(folder, 0o755)
  let usedCount = 0
  const programs: Pick<Running, 'stop'>[] = []
  return {
    folder,
    catalog,
    servers,
    gates,
    nextGtin: () => toGtin(usedCount++),
    countRequests: (text) =>
      gates.flatMap(({ requests }) => requests).filter(({ url }) => url.includes(text)).length,
    async setAllModes(mode) {
      for (const gate of gates) await gate.setMode(mode)
    },
    setMaxAge: (...ages) => gates.forEach((gate) => gate.setMaxAge(...ages)),
    stopOnDispose(running) {
      programs.push(running)
      return running
    },
    async dispose() {
      for (const running of programs.toReversed()) await running.stop()
      for (const gate of gates) await gate.stop()
      await Promise.all(servers.map((server) => server.stop()))
      await catalog.close()
      await rm(folder, { recursive: true, force: true })
    },
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

/** A file of deploy/ with other words in the place of its own; each of those has to be in it. */
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

/** Addresses of a product and of a channel's deals. */
export const toBoxPath = (gtin: string, channelId: string = CHANNEL_ID): string =>
  `/fragments/${channelId}/where-to-buy/${gtin}`
