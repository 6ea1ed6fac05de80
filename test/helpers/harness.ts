import type { RequestListener } from 'node:http'
import { createApp } from '../../src/app.ts'
import { createFixedKeySource } from '../../src/config/key-source.ts'
import { type Context, type ContextOptions, createContext } from '../../src/context.ts'
import { type Environment, parseConfig } from '../../src/config/config.ts'
import { Secret } from '../../src/config/secrets.ts'
import { runWalk } from '../../src/sync/walk.ts'
import { createLogger } from '../../src/observability/logger.ts'
import { makeCopyFile } from './copy-file.ts'
import { type FakeCatalog, FAKE_KEY, startFakeCatalog } from './fake-catalog.ts'
import { type FakeClock, createFakeClock } from './fake-clock.ts'

/** Noon UTC, twelve hours from the daily reset. */
export const NOON_MS: number = Date.UTC(2026, 10, 21, 12)

/** A widget server with a fake catalog and a fake clock. */
export type Harness = {
  app: RequestListener
  context: Context
  catalog: FakeCatalog
  clock: FakeClock
  /** All log lines, as text. */
  logs(): string
  dispose(): Promise<void>
}

/** `settings`: VITRINE_ variables; `over`: replaced parts of the context. */
export type HarnessOptions = Readonly<{
  settings?: Environment
  over?: Partial<ContextOptions>
  key?: string
}>

/** Create the real app on a real SQLite file; only the catalog and the clock are fake. */
export async function createHarness(options: HarnessOptions = {}): Promise<Harness> {
  const file = await makeCopyFile()
  const catalog = await startFakeCatalog()
  const clock = createFakeClock(NOON_MS)
  const lines: string[] = []
  const logger = createLogger({ level: 'trace', stream: { write: (line) => void lines.push(line) } })
  const { config, secrets } = parseConfig({
    VITRINE_DATABASE_URL: `sqlite:${file.path}`,
    VITRINE_CATALOG_URL: catalog.url,
    VITRINE_CATALOG_KEY: options.key ?? FAKE_KEY,
    VITRINE_PUBLIC_URL: 'https://widgets.example',
    // Caches allocate memory when they are created. With the default size, this would take a tenth of a test's time.
    VITRINE_CACHE_MAX_ENTRIES: '1000',
    ...options.settings,
  })
  const context = await createContext({
    config,
    secrets,
    clock,
    logger,
    publicUrl: config.publicUrl ?? 'https://widgets.example',
    catalog: {
      baseUrl: catalog.url,
      key: createFixedKeySource(new Secret(options.key ?? FAKE_KEY)),
      copyName: catalog.url,
    },
    demo: null,
    walkRunner: (order, watch) => runWalk(order, watch, clock),
    ...options.over,
  })
  return {
    app: createApp(context),
    context,
    catalog,
    clock,
    logs: () => lines.join(''),
    async dispose() {
      await context.dispose()
      await catalog.close()
      await file.remove()
    },
  }
}
