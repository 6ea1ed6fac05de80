import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getSampleServer } from '../use-server.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import type { Running } from './program.ts'

/** The real server with its sample data behind a gate, and a folder for a consumer's files. */
export type IncludeFixture = Readonly<{
  folder: string
  faultProxy: FaultProxy
  /** Where the server itself is, past the gate. */
  serverOrigin: string
  /** `/fragments/CHANNEL/where-to-buy/GTIN` of a box that is shown. */
  path: string
  /** A name that no other page of the place has. */
  nextName(): string
  /** Ends with the place. */
  stopLater<T extends Pick<Running, 'stop'>>(running: T): T
  dispose(): Promise<void>
}>

/** Opens a place, for a whole test file. */
export async function createIncludeFixture(): Promise<IncludeFixture> {
  const { publicUrl, box } = await getSampleServer()
  const faultProxy = await startFaultProxy({ target: publicUrl })
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-include-'))
  // Some programs answer as another user than the one who started them.
  await chmod(folder, 0o755)
  let names = 0
  const kept: Pick<Running, 'stop'>[] = []
  return {
    folder,
    faultProxy,
    serverOrigin: publicUrl,
    path: box.slice(publicUrl.length).replace('/embeds/', '/fragments/'),
    nextName: () => `page-${++names}`,
    stopLater(running) {
      kept.push(running)
      return running
    },
    async dispose() {
      for (const running of kept.toReversed()) await running.stop()
      await faultProxy.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
