import { onTestFinished } from 'vitest'
import { createApp } from '../../src/app.ts'
import { type Context, createContext } from '../../src/context.ts'
import { runWalk } from '../../src/sync/walk.ts'
import type { Harness } from '../helpers/harness.ts'
import { type TestServer, startTestServer } from './test-server.ts'

/** Another server process that shares the stored copy and the catalog. */
export type AppProcess = Readonly<{ context: Context; server: TestServer }>

/** Start another process with empty caches: it knows only what is stored. */
export async function startAppProcess(harness: Harness): Promise<AppProcess> {
  const { config, secrets, clock, logger, publicUrl, key } = harness.context
  const { url } = harness.catalog
  const context = await createContext({
    config,
    secrets,
    clock,
    logger,
    publicUrl,
    catalog: { baseUrl: url, key, copyName: url },
    demo: null,
    walkRunner: (job, control) => runWalk(job, control, clock),
  })
  onTestFinished(() => context.dispose())
  return { context, server: await startTestServer(createApp(context)) }
}
