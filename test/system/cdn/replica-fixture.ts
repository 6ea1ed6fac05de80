import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BuiltServer, startBuiltServer } from '../../helpers/built-server.ts'
import {
  CHANNEL_ID,
  FAKE_KEY,
  makeWireOffer,
  makeWireProduct,
  startFakeCatalog,
} from '../../helpers/fake-catalog.ts'
import { usePostgres } from '../../helpers/postgres.ts'
import { toGtin } from '../../helpers/products.ts'
import { type TcpProxy, startTcpProxy } from '../../helpers/tcp-proxy.ts'
import { findFreePort } from '../includes/program.ts'
import type { CdnFixture } from './fixture.ts'

/** Number of products in the channel; all of them are in the stored copy. */
export const PRODUCTS = 300

/** Three servers with one PostgreSQL database, each behind a TCP proxy that can cut the connection. */
export type ReplicaFixture = Pick<CdnFixture, 'folder' | 'stopOnDispose' | 'dispose'> &
  Readonly<{
    ports: readonly [number, number, number]
    databaseProxies: readonly TcpProxy[]
    /** Stop a server as an update does, and start it again. */
    restart(index: number): Promise<void>
  }>

/** Create the fixture of a test file. */
export async function createReplicaFixture(): Promise<ReplicaFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-replicas-'))
  // nginx serves as another user than the one that started it.
  await chmod(folder, 0o755)
  const catalog = await startFakeCatalog()
  const offers = [makeWireOffer({ old_price: '59.90' })]
  const products = Array.from({ length: PRODUCTS }, (_, index) =>
    makeWireProduct({ gtin: toGtin(index), offers }),
  )
  catalog.products.set(CHANNEL_ID, products)
  // Long timeouts, so that a slow machine does not count as a failure.
  const database = await usePostgres().makeDatabase('statement_timeout_ms=4000&connect_timeout_ms=4000')
  const databaseProxies = await Promise.all([1, 2, 3].map(() => startTcpProxy(database.address.port)))
  const ports = await Promise.all([findFreePort(), findFreePort(), findFreePort()])
  const start = (index: number): Promise<BuiltServer> => {
    const url = new URL(database.url)
    url.port = String(databaseProxies[index]?.port)
    return startBuiltServer({
      VITRINE_CATALOG_URL: catalog.url,
      VITRINE_CATALOG_KEY: FAKE_KEY,
      VITRINE_DATABASE_URL: url.href,
      VITRINE_PUBLIC_URL: 'https://widgets.example',
      VITRINE_TRUST_PROXY: '1',
      VITRINE_LOG_LEVEL: 'silent',
      VITRINE_PORT: String(ports[index]),
    })
  }
  const servers = await Promise.all([...ports.keys()].map(start))
  const programs: Readonly<{ stop(): Promise<unknown> }>[] = []
  return {
    folder,
    ports,
    databaseProxies,
    stopOnDispose(running) {
      programs.push(running)
      return running
    },
    async restart(index) {
      await servers[index]?.stop()
      servers[index] = await start(index)
    },
    async dispose() {
      for (const running of programs.toReversed()) await running.stop()
      for (const proxy of databaseProxies) proxy.setCut(false)
      await Promise.all(servers.map((server) => server.stop()))
      for (const proxy of databaseProxies) await proxy.close()
      await database.drop()
      await catalog.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
