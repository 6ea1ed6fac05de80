import { HOUR_MS } from '../clock.ts'
import { runWalkInThread } from '../sync/walk-runner.ts'
import { readEnvironment } from '../config/env.ts'
import type { Context } from '../context.ts'
import { listenHttp } from '../http/server.ts'
import { Primary } from '../cluster/primary.ts'
import { type OpenCatalog, openCatalog, toLocalUrl } from './catalog/place.ts'
import type { CommandContext, ExitCode } from './command.ts'
import { type HangUps, computeDrainMs, takeNewKey, waitForStop } from './serving.ts'

/**
 * `vitrine serve` with `VITRINE_WORKERS` of more than one: this process has the catalog and the walks, and keeps the
 * processes that answer.
 * @throws UsageError when the address cannot be listened on; WorkerError when a worker does not come up.
 */
export async function serveWithWorkers(command: CommandContext, hangUps: HangUps): Promise<ExitCode> {
  const { config, secrets, clock, logger } = command
  const port = await findPort(command)
  const localUrl = toLocalUrl(config.host, port)
  const publicUrl = config.publicUrl ?? localUrl
  // The rest of the program is loaded while the embedded catalog starts in its thread.
  const [catalog, { createContext }] = await Promise.all([
    openCatalog(command, { publicUrl, mayPutSample: true }),
    import('../context.ts'),
  ])
  try {
    const parts = { config, secrets, clock, logger, publicUrl, catalog: catalog.place, demo: catalog.demo }
    const context = await createContext({ ...parts, walkRunner: runWalkInThread })
    await keepWorkers(command, { context, catalog, port, localUrl, hangUps })
    return 0
  } finally {
    await catalog.close()
  }
}

/** The port of all workers: one that is taken ends the start here, and a free one that was asked for stays the same. */
async function findPort({ config, clock }: CommandContext): Promise<number> {
  const probe = await listenHttp(config.host, config.port, clock)
  await probe.stop()
  return probe.port
}

type Place = Readonly<{
  context: Context
  catalog: OpenCatalog
  port: number
  localUrl: string
  hangUps: HangUps
}>

/** Whatever ends the service, nothing of it stays open: the process ends by itself. */
async function keepWorkers(command: CommandContext, place: Place): Promise<void> {
  const { io } = command
  const { context } = place
  // No wait of ours keeps a process alive, and while no worker lives nothing else may: Node would end this one.
  const alive = setInterval(() => {}, HOUR_MS)
  const primary = createPrimary(command, place)
  try {
    await runWorkers(command, place, primary)
  } finally {
    await Promise.all([primary.stop(computeDrainMs(io.signal)), context.walks.stop()])
      .then(() => context.dispose())
      .finally(() => clearInterval(alive))
  }
}

/** Until it is told to stop; when that is during the start, nothing more is begun. */
async function runWorkers(command: CommandContext, place: Place, primary: Primary): Promise<void> {
  const { config, io, logger } = command
  const { context, hangUps } = place
  if (io.signal.aborted) return
  const stopped = waitForStop(io.signal)
  await Promise.race([primary.start(), stopped])
  if (io.signal.aborted) return
  hangUps.answerWith(() => void reload(primary, context))
  const { publicUrl } = context
  logger.info({ publicUrl, catalog: config.catalog.kind, workers: config.workers }, 'listening')
  await Promise.race([context.walks.start(), stopped])
  const { announce } = await import('./announce.ts')
  if (!io.signal.aborted) await announce(command, context, place.localUrl)
  await stopped
}

function createPrimary({ config }: CommandContext, { context, catalog, port }: Place): Primary {
  const { baseUrl, key, identity } = catalog.place
  const { demo, publicUrl: demoUrl } = catalog
  const embedded = demo && { baseUrl, key: key.current().reveal(), identity, demoUrl }
  return new Primary({
    context,
    size: config.workers,
    parameters: { environment: readEnvironment(), port, publicUrl: context.publicUrl, embedded },
    readContent: () => demo?.readContent() ?? Promise.resolve('own'),
  })
}

async function reload(primary: Primary, context: Context): Promise<void> {
  await takeNewKey(context)
  primary.refreshKeys()
  await primary.reload()
}
