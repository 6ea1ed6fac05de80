import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// oxlint-disable-next-line node/no-process-env -- whose machine it is, not a setting
const IS_CI = process.env['CI'] !== undefined

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/build.ts'],
    setupFiles: ['test/helpers/patience.ts'],
    // Programs of other people start at their own pace, and machines of CI are busy: a limit says that something hangs.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
    // A browser that stands still on a busy machine, in Playwright's words. Nothing else is tried again, and not on one's own machine.
    retry: IS_CI ? { count: 1, condition: /: Timeout \d+ms exceeded/ } : 0,
    pool: 'forks',
    // Most of the time passes in browsers and servers of their own: two at a time also where there are two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      // Run in a browser, in a thread or as a process of their own, where this coverage does not see them.
      exclude: [
        'src/browser/**',
        'src/main.ts',
        'src/ending.ts',
        'src/copy/{read-thread,read-threads,walk-thread}.ts',
        'src/catalog-service/service-thread.ts',
        'src/commands/serve-{here,with-workers}.ts',
        'src/workers/{worker,worker-process,fleet,fleet-counts}.ts',
      ],
      thresholds: { lines: 95, branches: 85 },
      reporter: ['text-summary', 'lcov'],
    },
  },
})
