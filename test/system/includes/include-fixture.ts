import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getSampleServer } from '../use-server.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import type { Running } from './program.ts'

/** A product of the sample data beside that of the box. */
const OTHER_GTIN = '09520001001017'

/** The real server with sample data behind a fault proxy, and a folder for the files of a consumer. */
export type IncludeFixture = Readonly<{
  folder: string
  faultProxy: FaultProxy
  /** Address of the server itself, not of the proxy. */
  serverOrigin: string
  /** `/fragments/CHANNEL/where-to-buy/GTIN` of a box that is shown. */
  path: string
  /** The same for a round-up of two products. */
  roundUpPath: string
  /** Return a unique name for a page. */
  nextName(): string
  /** Stop it with the fixture. */
  stopLater<T extends Pick<Running, 'stop'>>(running: T): T
  dispose(): Promise<void>
}>

export async function createIncludeFixture(): Promise<IncludeFixture> {
  const { publicUrl, box } = await getSampleServer()
  const faultProxy = await startFaultProxy({ target: publicUrl })
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-include-'))
  // Some programs serve as another user than the one that started them.
  await chmod(folder, 0o755)
  let names = 0
  const toStop: Pick<Running, 'stop'>[] = []
  const path = box.slice(publicUrl.length).replace('/embeds/', '/fragments/')
  return {
    folder,
    faultProxy,
    serverOrigin: publicUrl,
    path,
    roundUpPath: path.replace('/where-to-buy/', `/picks/${OTHER_GTIN},`),
    nextName: () => `page-${++names}`,
    stopLater(running) {
      toStop.push(running)
      return running
    },
    async dispose() {
      for (const running of toStop.toReversed()) await running.stop()
      await faultProxy.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
