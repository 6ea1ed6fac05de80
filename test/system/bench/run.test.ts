import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'

const root = mkdtempSync(join(tmpdir(), 'bench-test-'))
// PostgreSQL runs as somebody else where the tests run as root.
chmodSync(root, 0o711)
afterAll(() => rmSync(root, { recursive: true, force: true }))

function makeFolder(): string {
  const folder = mkdtempSync(join(root, 'run-'))
  chmodSync(folder, 0o711)
  return folder
}

type Ended = Readonly<{ code: number; out: string; err: string }>

/** Runs the bench with this temporary folder, and without any program but Node. */
function runBench(folder: string, ...words: string[]): Promise<Ended> {
  const env = { TMPDIR: folder }
  return new Promise((resolve) => {
    const parameters = [join(PACKAGE_FOLDER, 'bench/run.mjs'), ...words]
    execFile(process.execPath, parameters, { env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err })
    })
  })
}

// A bench mostly waits for programs that start, or that are to be at rest.
describe.concurrent('the bench', () => {
  it('a scenario at its smallest - run - prints its table, writes every round, and leaves nothing behind', async () => {
    const folder = makeFolder()
    const file = join(folder, 'results.json')
    const words = ['start', '--rounds', '2', '--products', '200', '--no-judge', '--json', file]
    const { code, out, err } = await runBench(folder, ...words)
    expect(err).not.toContain('Error')
    expect(code).toBe(0)
    expect(err).toContain('start: from spawn to /readyz with a copy of 200 products\n')
    expect(err).toContain(`every round: ${file}\n`)
    expect(out).toMatch(/^## start$/m)
    expect(out).toMatch(/^\| 200 \| \d+ \| \d+ \|$/m)
    expect(out).toMatch(
      /^\| start to ready: at most 1000 ms \| \d+ ms \| not judged: fewer than 100,000 products \|$/m,
    )
    const results = JSON.parse(readFileSync(file, 'utf8')) as {
      machine: { node: string; cores: number }
      scenarios: { start: { rounds: { startMs: number[] } } }
    }
    expect(results.machine.node).toBe(process.version)
    expect(results.scenarios.start.rounds.startMs).toHaveLength(2)
    expect(readdirSync(folder)).toEqual(['results.json'])
  })

  it('the cost of views, products and channels - at its smallest - is measured, and bytes are what a walk fetched', async () => {
    const folder = makeFolder()
    const file = join(folder, 'sizing.json')
    const words = ['sizing', '--rounds', '1', '--seconds', '0.5', '--products', '200', '--json', file]
    const { code, out, err } = await runBench(folder, ...words)
    expect(err).not.toContain('Error')
    expect(code).toBe(0)
    expect(out).toMatch(/^\| hot \| \d+ \| \d\.\d\d \|$/m)
    expect(out).toMatch(/^\| old: sent, and refreshed behind by a call \| \d+ \| \d\.\d\d \|$/m)
    expect(out).toMatch(/^\| 200, 1 % changed \| 5000 \| 1\.\d\d \|/m)
    const { scenarios } = JSON.parse(readFileSync(file, 'utf8')) as {
      scenarios: {
        sizing: {
          rounds: { products: { walks: Record<string, { pages: number; databaseBytes: number }> }[] }
        }
      }
    }
    const [{ walks } = { walks: {} }] = scenarios.sizing.rounds.products
    expect(walks['first walk']?.pages).toBe(1)
    expect(walks['first walk']?.databaseBytes).toBeGreaterThan(200 * 1_000)
    expect(readdirSync(folder)).toEqual(['sizing.json'])
  })

  it('the same on PostgreSQL - without options - starts a server of its own, and counts its CPU time and log', async () => {
    const folder = makeFolder()
    const file = join(folder, 'postgres.json')
    const words = ['--products', '200', '--rounds', '1', '--seconds', '0.5', '--no-judge', '--json', file]
    const { code, out, err } = await runBench(folder, 'sizing-postgres', ...words)
    expect(err).not.toContain('Error')
    expect(code).toBe(0)
    expect(out).toMatch(/^\| {2}\| CPU s \| CPU s of the database \| GB sent \| GB of log \|$/m)
    expect(out).toMatch(
      /^\| old: sent, and refreshed behind by a call \| \d+ \| \d+ \| \d\.\d\d \| \d+\.\d\d \|$/m,
    )
    const { scenarios } = JSON.parse(readFileSync(file, 'utf8')) as {
      scenarios: { 'sizing-postgres': { rounds: { views: { logBytes: number; databaseCpuUs: number }[] } } }
    }
    const [, , old] = scenarios['sizing-postgres'].rounds.views
    // More than a row: the page that it is on, as a whole.
    expect(old?.logBytes).toBeGreaterThan(4_000)
    expect(old?.databaseCpuUs).toBeGreaterThan(0)
    expect(readdirSync(folder)).toEqual(['postgres.json'])
  })

  it('a word that is no scenario - ends with code 2 and says which there are', async () => {
    const { code, out, err } = await runBench(makeFolder(), 'warm')
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(/^no scenario warm; there are hot, /)
  })

  it('a file that cannot be written - ends with code 2 before anything is measured, and leaves nothing behind', async () => {
    const folder = makeFolder()
    const file = join(folder, 'nowhere', 'x.json')
    const { code, out, err } = await runBench(folder, 'start', '--json', file)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toBe(`--json: ${file} cannot be written: there is no such folder\n`)
    expect((await runBench(folder, 'start', '--json', folder)).err).toContain(
      'cannot be written: that is a folder\n',
    )
    expect(readdirSync(folder)).toEqual([])
  })

  it('a Node that is none - ends with code 2', async () => {
    const { code, err } = await runBench(
      makeFolder(),
      'start',
      '--node',
      join(PACKAGE_FOLDER, 'package.json'),
    )
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^--node: .* is no Node\n$/) })
  })
})
