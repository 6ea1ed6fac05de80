import type { CommandContext, ExitCode } from './command.ts'
import { TRUST_ALL_WARNING } from './check-proxy.ts'
import { heedHangUps } from './serving.ts'

/**
 * `vitrine serve`: runs the widget server, and with it the embedded catalog service when no other is set, until it is
 * told to stop. Prints addresses that really open once the first walk has ended.
 * @throws UsageError when the address cannot be listened on.
 */
export async function runServe(command: CommandContext): Promise<ExitCode> {
  if (command.config.trustProxy === true) command.logger.warn(TRUST_ALL_WARNING)
  const hangUps = heedHangUps(command.io)
  if (command.config.workers === 1) return (await import('./serve-here.ts')).serveHere(command, hangUps)
  return (await import('./serve-with-workers.ts')).serveWithWorkers(command, hangUps)
}
