import { listenHttp } from '../http/server.ts'
import { openReadThreads } from '../storage/read-threads.ts'
import { TRUST_ALL_WARNING } from './checks/listener.ts'
import type { CommandContext } from './command.ts'
import {
  type HangUps,
  computeDrainMs,
  heedHangUps,
  runUntilStopped,
  takeNewKey,
  withContext,
} from './serving.ts'

/**
 * `vitrine serve`: runs the widget server, and with it the embedded catalog service when no other is set, until it is
 * told to stop. Prints addresses that really open once the first walk has ended.
 * @throws UsageError when the address cannot be listened on.
 */
export async function runServe(command: CommandContext): Promise<void> {
  if (command.config.trustProxy === true) command.logger.warn(TRUST_ALL_WARNING)
  const hangUps = heedHangUps(command.io)
  if (command.config.workers === 1) return serveHere(command, hangUps)
  return (await import('./serve-with-workers.ts')).serveWithWorkers(command, hangUps)
}

/** In this process alone. */
async function serveHere(command: CommandContext, hangUps: HangUps): Promise<void> {
  const { config, io, clock } = command
  const loading = import('../app.ts')
  const server = await listenHttp(config.host, config.port, clock)
  try {
    const parts = { port: server.port, openLongReads: openReadThreads }
    await withContext(command, parts, async (context) => {
      const { createApp } = await loading
      hangUps.answerWith(() => void takeNewKey(context))
      try {
        // Also when it was told to stop meanwhile: whoever came before waits for an answer.
        server.answerWith(createApp(context, server.isStopping))
        await runUntilStopped(command, context, server.port)
      } finally {
        await Promise.all([server.stop(computeDrainMs(io.signal)), context.walks.stop()])
      }
    })
  } finally {
    await server.stop()
  }
}
