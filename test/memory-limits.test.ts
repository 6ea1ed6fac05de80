import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createUnit } from '../src/cli/init/files.ts'
import { PACKAGE_FOLDER } from '../src/lib/files.ts'

/** The heap of each thread, and the memory of one process and of a further worker, in MB. */
const HEAP_MB = 256
const PROCESS_MB = 768
const WORKER_MB = 512

const read = (path: string): string => readFileSync(join(PACKAGE_FOLDER, path), 'utf8')

/** List the numbers that a pattern finds in a file. */
function listNumbers(text: string, pattern: RegExp): readonly number[] {
  return [...text.matchAll(pattern)].map(([, number]) => Number(number))
}

describe('memory limits', () => {
  test.each([
    ['Dockerfile', /^ +NODE_OPTIONS=--max-old-space-size=(\d+) \\$/gm],
    ['deploy/compose/Dockerfile', /^ENV .*NODE_OPTIONS=--max-old-space-size=(\d+)$/gm],
    ['deploy/systemd/vitrine.service', /^Environment=NODE_OPTIONS=--max-old-space-size=(\d+)$/gm],
    ['docs/operate/health-and-metrics.md', /`NODE_OPTIONS=--max-old-space-size=(\d+)`/g],
  ])('%s - has the heap limit', (path, pattern) => {
    expect(listNumbers(read(path), pattern)).toEqual([HEAP_MB])
  })

  test.each([
    ['compose.yaml', /^ {2}mem_limit: (\d+)m$/gm],
    ['deploy/kubernetes/deployment.yaml', /limits:\n +memory: (\d+)Mi$/gm],
    ['deploy/systemd/vitrine.service', /^MemoryMax=(\d+)M$/gm],
    ['docs/operate/sizing.md', /a core and (\d+) MB/g],
    ['docs/operate/health-and-metrics.md', /Allow (\d+) MB for one process/g],
    ['docs/operate/deployment.md', /(?:MemoryMax=|--memory )(\d+)m/gi],
  ])('%s - allows the memory of one process', (path, pattern) => {
    expect(new Set(listNumbers(read(path), pattern))).toEqual(new Set([PROCESS_MB]))
  })

  test.each([
    ['deploy/systemd/vitrine.service', /[Aa]dd (\d+)M for each worker/g],
    ['deploy/systemd/vitrine.env.example', /add (\d+)M for each to MemoryMax=/g],
    ['docs/operate/deployment.md', /add (\d+)M for each \[worker\]/g],
    ['docs/operate/health-and-metrics.md', /(\d+) MB for each worker/g],
  ])('%s - names the memory of a worker', (path, pattern) => {
    expect(listNumbers(read(path), pattern)).toEqual([WORKER_MB])
  })

  test('unit that vitrine init writes - has both limits', () => {
    const unit = createUnit()
    expect(unit).toContain(`--max-old-space-size=${HEAP_MB}`)
    expect(unit).toContain(`MemoryMax=${PROCESS_MB}M`)
  })
})
