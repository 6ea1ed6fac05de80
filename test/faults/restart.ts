import { onTestFinished } from 'vitest'
import { createApp } from '../../src/app.ts'
import { type Context, createContext } from '../../src/context.ts'
import { runWalk } from '../../src/sync/walk.ts'
import type { Harness } from '../helpers/harness.ts'
import { type Front, openFront } from './front.ts'

/** A further process over the same stored copy and the same catalog. */
export type Process = Readonly<{ context: Context; front: Front }>

/** Starts one that knows only what is stored. */
export async function startProcess(harness: Harness): Promise<Process> {
  const { config, secrets, clock, logger, publicUrl, key } = harness.context
  const { url } = harness.catalog
  const context = await createContext({
    config,
    secrets,
    clock,
    logger,
    publicUrl,
    catalog: { baseUrl: url, key, identity: url },
    demo: null,
    walkRunner: (order, watch) => runWalk(order, watch, clock),
  })
  onTestFinished(() => context.dispose())
  return { context, front: await openFront(createApp(context)) }
}
