import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

const run = promisify(execFile)

test('idle process - the metrics wake it ten times a second', async () => {
  const code = `import { performance } from 'node:perf_hooks'
    import { createMetrics } from ${JSON.stringify(join(PACKAGE_FOLDER, 'dist/observability/metrics.js'))}
    createMetrics()
    const count = () => performance.nodeTiming.uvMetricsInfo.loopCount
    setTimeout(() => { const before = count(); setTimeout(() => console.log(count() - before), 1_000) }, 100)`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code])
  // A slow machine wakes it less often.
  expect(Number(stdout)).toBeLessThan(40)
})
