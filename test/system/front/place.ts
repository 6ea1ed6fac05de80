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
import { type Gate, type GateMode, startGate } from '../includes/gate.ts'
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
export type FrontPlace = Readonly<{
  folder: string
  catalog: FakeCatalog
  servers: readonly Replica[]
  gates: readonly Gate[]
  /** A GTIN that no other test has asked for. */
  nextGtin(): string
  /** How often the servers were asked for addresses that hold the text. */
  count(text: string): number
  setAll(mode: GateMode): Promise<void>
  /** As `Gate.setMaxAge`, for all. */
  setMaxAge(seconds: number | null, staleSeconds?: number, ifErrorSeconds?: number): void
  /** Ends with the place. */
  keep<T extends Pick<Running, 'stop'>>(running: T): T
  dispose(): Promise<void>
}>

/** Opens a place, for a whole test file. `settings` go to every server. */
export async function openFrontPlace(settings: Readonly<Record<string, string>> = {}): Promise<FrontPlace> {
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
    servers.map(({ port }) => startGate({ target: `http://127.0.0.1:${port}` })),
  )
  // Some programs answer as another user than the one who started them.
  await chmod(folder, 0o755)
  let used = 0
  const kept: Pick<Running, 'stop'>[] = []
  return {
    folder,
    catalog,
    servers,
    gates,
    nextGtin: () => toGtin(used++),
    count: (text) => gates.flatMap(({ requests }) => requests).filter(({ url }) => url.includes(text)).length,
    async setAll(mode) {
      for (const gate of gates) await gate.setMode(mode)
    },
    setMaxAge: (...ages) => gates.forEach((gate) => gate.setMaxAge(...ages)),
    keep(running) {
      kept.push(running)
      return running
    },
    async dispose() {
      for (const running of kept.toReversed()) await running.stop()
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
export function fillIn(file: string, changes: readonly (readonly [from: string, to: string])[]): string {
  let text = readFileSync(join(PACKAGE_FOLDER, 'deploy', file), 'utf8')
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`deploy/${file} does not have: ${from}`)
    text = text.replaceAll(from, () => to)
  }
  return text
}

/** Addresses of a product and of a channel's deals. */
export const toBox = (gtin: string, channelId: string = CHANNEL_ID): string =>
  `/fragments/${channelId}/where-to-buy/${gtin}`
