import { HOUR_MS } from '../clock.ts'
import { type Fleet, createFleet } from '../cluster/fleet.ts'
import { toDatabaseText } from '../config/database-address.ts'
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
      const fleet = openFleet(command, { context, catalog, port })
      try {
        if (io.signal.aborted) return
        await Promise.race([fleet.start(), waitForStop(io.signal)])
        if (io.signal.aborted) return
        hangUps.answerWith(() => void reload(fleet, context))
        await runUntilStopped(command, context, port)
      } finally {
        await Promise.all([fleet.stop(computeDrainMs(io.signal)), context.walks.stop()])
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

function openFleet({ config, secrets }: CommandContext, { context, catalog, port }: Place): Fleet {
  const { baseUrl, key, identity } = catalog.place
  const fleet = createFleet({
    size: config.workers,
    context,
    makeOrder: (number) => ({
      number,
      config,
      database: toDatabaseText(config.database),
      port,
      publicUrl: context.publicUrl,
      catalog: { baseUrl, key: key.current().reveal(), identity },
      adminPassword: secrets.adminPassword?.reveal() ?? null,
      demoUrl: catalog.demo === null ? null : catalog.publicUrl,
    }),
    askCatalog: {
      async readKeyAgain() {
        if (await key.refresh()) handKeyOn(fleet, context)
        return key.current().reveal()
      },
      readContent: () => catalog.demo?.readContent() ?? Promise.resolve('own'),
    },
  })
  return fleet
}

/** The pause that the old key brought about ends everywhere. */
function handKeyOn(fleet: Fleet, { key, gate }: Context): void {
  gate.liftKeyPause()
  fleet.tellAll({ type: 'key', key: key.current().reveal() })
}

async function reload(fleet: Fleet, context: Context): Promise<void> {
  if (await takeNewKey(context)) handKeyOn(fleet, context)
  await fleet.reload()
}
