import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// oxlint-disable-next-line node/no-process-env -- whose machine it is, not a setting
const IS_CI = process.env['CI'] !== undefined
const CORES = availableParallelism()

export default defineConfig({
  test: {
    setupFiles: ['test/helpers/timeouts.ts', 'test/helpers/property-runs.ts'],
    // A limit says that something hangs. It is never what a test measures: programs start at their own pace, and machines of CI are busy.
    testTimeout: 480_000,
    hookTimeout: 480_000,
    expect: { poll: { timeout: 60_000, interval: 10 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: ['test/system/**'],
          globalSetup: ['test/helpers/bundle-page.ts', 'test/helpers/temporary-folder.ts'],
          pool: 'threads',
          isolate: false,
          // Half of the time passes in waits for the network and for timers.
          maxWorkers: CORES * 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          globalSetup: [
            'test/system/build.ts',
            'test/system/start-postgres.ts',
            'test/system/start-shared.ts',
          ],
          // A browser that stands still on a busy machine, in Playwright's words. Nothing else is tried again, and not on one's own machine.
          retry: IS_CI ? { count: 1, condition: /: Timeout \d+ms exceeded/ } : 0,
          pool: 'forks',
          // Tests that run at once wait for clocks of other programs.
          maxConcurrency: 8,
          // Some of the time passes in waits of programs.
          maxWorkers: CORES + 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      // Run in a browser, in a thread or as a process of their own, where this coverage does not see them.
      exclude: [
        'src/browser/**',
        'src/{bin,main}.ts',
        'src/lib/shutdown.ts',
        'src/storage/{read-thread,write-thread,long-reads,threads}.ts',
        'src/lib/request-thread.ts',
        'src/sync/walk-thread.ts',
        'src/catalog-service/service-thread.ts',
        'src/cluster/{worker,worker-process}.ts',
      ],
      thresholds: { lines: 95, branches: 85 },
      reporter: ['text-summary', 'lcov'],
    },
  },
})
