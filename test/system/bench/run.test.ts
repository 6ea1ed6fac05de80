import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

const makeTemporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'bench-test-'))

type CommandResult = Readonly<{ code: number; out: string; err: string }>

/** Run the benchmark with this temporary folder. */
function runBench(folder: string, ...args: string[]): Promise<CommandResult> {
  const env = { TMPDIR: folder }
  return new Promise((resolve) => {
    const parameters = [join(PACKAGE_FOLDER, 'bench/run.mjs'), ...args]
    execFile(process.execPath, parameters, { env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err })
    })
  })
}

const SMALLEST_ARGS = ['--rounds', '1', '--seconds', '0.5', '--products', '200', '--no-fail']

// A benchmark mostly waits for programs to start or to become idle.
describe.concurrent('benchmark', () => {
  test('scenarios with the smallest settings - run, print tables, write results and leave no other files', async () => {
    const folder = makeTemporaryFolder()
    const results = join(folder, 'results')
    const names = ['hot', 'cold', 'copy', 'walk', 'import', 'start']
    const { code, out, err } = await runBench(folder, ...names, ...SMALLEST_ARGS, '--results', results)
    expect(err).not.toContain('Error')
    expect(code).toBe(0)
    const major = process.versions.node.split('.')[0]
    const files = names.flatMap((name) => [`${name}-node${major}.json`, `${name}-node${major}.md`])
    expect(readdirSync(results).sort()).toEqual(files.sort())
    for (const name of names) {
      const page = readFileSync(join(results, `${name}-node${major}.md`), 'utf8')
      expect(page).toContain(`Node ${process.version}, `)
      expect(out).toContain(page.split('\n')[0])
      // A number, optionally with its range.
      expect(page).toMatch(/^\| .*: at (?:most|least) .* \| \d[^|]* \| (?:met|missed|not checked) \|$/m)
    }
    expect(readdirSync(folder)).toEqual(['results'])
  })

  test('sizing with the smallest settings - measures the cost of views and products', async () => {
    const folder = makeTemporaryFolder()
    const { code, out, err } = await runBench(folder, 'sizing', ...SMALLEST_ARGS, '--results', folder)
    expect(err).not.toContain('Error')
    expect(code).toBe(0)
    expect(out).toMatch(/^\| hot \| \d+ \|$/m)
    expect(out).toMatch(/^\| 1 % changed \| \d+ \| \d+ \| \d{4} \|$/m)
  })

  test.each([
    ['unknown scenario', ['warm'], /^Unknown scenario: warm\./],
    ['unknown option', ['hot', '--warm'], /--warm/],
    ['invalid number', ['hot', '--rounds', 'many'], /^Numbers must be positive\./],
  ])('%s - exits with 2 and prints the usage', async (_title, args, message) => {
    const { code, out, err } = await runBench(makeTemporaryFolder(), ...args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(message)
    expect(err).toContain('npm run bench -- [scenario ...] [options]')
  })
})
