import type { RequestListener } from 'node:http'
import { openReadThreads } from '../storage/read-threads.ts'
import { runWalkInThread } from '../sync/walk-runner.ts'
import type { Context } from '../context.ts'
import { type HttpServer, listenHttp } from '../http/server.ts'
import { openCatalog, toLocalUrl } from './catalog/place.ts'
import type { CommandContext, ExitCode } from './command.ts'
import { type HangUps, computeDrainMs, takeNewKey, waitForStop } from './serving.ts'

/** `vitrine serve` in this process alone. @throws UsageError when the address cannot be listened on. */
export async function serveHere(command: CommandContext, hangUps: HangUps): Promise<ExitCode> {
  const { config, secrets, clock, logger } = command
  const server = await listenHttp(config.host, config.port, clock)
  const publicUrl = config.publicUrl ?? toLocalUrl(config.host, server.port)
  try {
    // The rest of the program is loaded while the embedded catalog starts in its thread.
    const [catalog, { createContext }, { createApp }] = await Promise.all([
      openCatalog(command, { publicUrl, mayPutSample: true }),
      import('../context.ts'),
      import('../app.ts'),
    ])
    try {
      const { place, demo } = catalog
      const parts = { config, secrets, clock, logger, publicUrl, catalog: place, demo }
      const context = await createContext({
        ...parts,
        walkRunner: runWalkInThread,
        openLongReads: openReadThreads,
      })
      hangUps.answerWith(() => void takeNewKey(context))
      await serveUntilStopped(command, { server, context, app: createApp(context, server.isStopping) })
      return 0
    } finally {
      await catalog.close()
    }
  } finally {
    await server.stop()
  }
}

/** Whatever ends the service, nothing of it stays open: the process ends by itself. */
async function serveUntilStopped(
  command: CommandContext,
  { server, context, app }: Readonly<{ server: HttpServer; context: Context; app: RequestListener }>,
): Promise<void> {
  const { config, io, logger } = command
  try {
    // Also when it was told to stop meanwhile: whoever came before waits for an answer.
    server.answerWith(app)
    if (io.signal.aborted) return
    logger.info({ publicUrl: context.publicUrl, catalog: config.catalog.kind }, 'listening')
    const stopped = waitForStop(io.signal)
    await Promise.race([context.walks.start(), stopped])
    const { announce } = await import('./announce.ts')
    if (!io.signal.aborted) await announce(command, context, toLocalUrl(server.host, server.port))
    await stopped
  } finally {
    await Promise.all([server.stop(computeDrainMs(io.signal)), context.walks.stop()])
    await context.dispose()
  }
}
