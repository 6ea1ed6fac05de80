import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/build.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      // Run in a browser, in a thread or as a process of their own, where this coverage does not see them.
      exclude: ['src/browser/**', 'src/main.ts', 'src/copy/walk-thread.ts'],
      thresholds: { lines: 95, branches: 85 },
      reporter: ['text-summary', 'lcov'],
    },
  },
})
