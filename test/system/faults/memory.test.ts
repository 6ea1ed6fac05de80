import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { MINUTE_MS } from '../../../src/clock.ts'
import { BOX, startHarness } from '../../app/app-client.ts'
import { startTestServer } from '../../faults/test-server.ts'
import { LARGE_FAULTS } from '../../faults/matrix-bodies.ts'

const ROUNDS = 20
const MAX_GROWTH_BYTES: number = 150 * 1024 ** 2
const LOOK_UP = /\/products\//

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Return the bytes in use after a garbage collection; resident memory would include garbage. */
function measureBytes(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

describe('memory', () => {
  it.each(LARGE_FAULTS)(
    '$name - twenty times, with the default size limit - memory grows by less than 150 MB',
    async ({ respond, outcome }) => {
      const harness = await startHarness()
      const server = await startTestServer(harness.app)
      harness.catalog.fault = { pathPattern: LOOK_UP, respond }
      const visit = async (): Promise<void> => {
        const response = await server.visit(BOX)
        expect([response.status, response.headers['vitrine-state'], response.body.length]).toEqual([
          200,
          'unavailable',
          0,
        ])
        harness.clock.advance(2 * MINUTE_MS)
      }
      await visit()
      const beforeBytes = measureBytes()
      const grownBytes: number[] = []
      for (let round = 0; round < ROUNDS; round++) {
        await visit()
        grownBytes.push(measureBytes() - beforeBytes)
      }
      expect(harness.catalog.countCalls(LOOK_UP)).toBe(1 + ROUNDS)
      expect((await harness.context.metrics.render()).text).toContain(
        `vitrine_catalog_calls_total{operation="product",outcome="${outcome}"} ${1 + ROUNDS}`,
      )
      expect(Math.max(...grownBytes)).toBeLessThan(MAX_GROWTH_BYTES)
    },
  )
})
