import { fileURLToPath } from 'node:url'
import { HOUR_MS } from '../clock.ts'
import { Primary } from '../cluster/primary.ts'
import { readEnvironment } from '../config/env.ts'
import type { Context } from '../context.ts'
import { listenHttp } from '../http/server.ts'
import type { CommandContext } from './command.ts'
import type { OpenCatalog } from './open-catalog.ts'
import {
  type HangUps,
  computeDrainMs,
  runUntilStopped,
  takeNewKey,
  waitForStop,
  withContext,
} from './serving.ts'

/** Compiled: a process needs JavaScript. */
const WORKER_FILE = fileURLToPath(new URL('../../dist/cli/worker.js', import.meta.url))

/**
 * `vitrine serve` with `VITRINE_WORKERS` of more than one: this process has the catalog and the walks, and keeps the
 * processes that answer.
 * @throws UsageError when the address cannot be listened on; WorkerError when a worker does not come up.
 */
export async function serveWithWorkers(command: CommandContext, hangUps: HangUps): Promise<void> {
  const { io } = command
  const port = await findPort(command)
  // No wait of ours keeps a process alive, and while no worker lives nothing else may: Node would end this one.
  const alive = setInterval(() => {}, HOUR_MS)
  try {
    await withContext(command, { port }, async (context, catalog) => {
      const primary = createPrimary(command, { context, catalog, port })
      try {
        if (io.signal.aborted) return
        await Promise.race([primary.start(), waitForStop(io.signal)])
        if (io.signal.aborted) return
        hangUps.answerWith(() => void reload(primary, context))
        await runUntilStopped(command, context, port)
      } finally {
        await Promise.all([primary.stop(computeDrainMs(io.signal)), context.walks.stop()])
      }
    })
  } finally {
    clearInterval(alive)
  }
}

/** The port of all workers: one that is taken ends the start here, and a free one that was asked for stays the same. */
async function findPort({ config, clock }: CommandContext): Promise<number> {
  const probe = await listenHttp(config.host, config.port, clock)
  await probe.stop()
  return probe.port
}

type Place = Readonly<{ context: Context; catalog: OpenCatalog; port: number }>

function createPrimary({ config }: CommandContext, { context, catalog, port }: Place): Primary {
  const { baseUrl, key, identity } = catalog.place
  const { demo, publicUrl: demoUrl } = catalog
  const embedded = demo && { baseUrl, key: key.current().reveal(), identity, demoUrl }
  return new Primary({
    context,
    size: config.workers,
    workerFile: WORKER_FILE,
    parameters: { environment: readEnvironment(), port, publicUrl: context.publicUrl, embedded },
    readContent: () => demo?.readContent() ?? Promise.resolve('own'),
  })
}

async function reload(primary: Primary, context: Context): Promise<void> {
  await takeNewKey(context)
  primary.refreshKeys()
  await primary.reload()
}
