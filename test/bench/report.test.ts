import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../src/lib/paths.ts'
import { importBench } from './bench-library.ts'

type Judged = Readonly<{ text: string; measured: string; holds: boolean | null; why?: string }>
type Found = Readonly<{ value: number; limit: number; unit?: string; digits?: number }>
type Outcome = Readonly<{
  tables: readonly Readonly<{
    title: string
    columns: readonly string[]
    rows: readonly (readonly (string | number)[])[]
  }>[]
  promises?: readonly Judged[]
  notes?: readonly string[]
  rounds?: object
  memoryMb?: Readonly<Record<string, number>>
}>
type Report = Readonly<{
  judgeAtLeast(text: string, found: Found): Judged
  judgeAtMost(text: string, found: Found): Judged
  judgeOfMany(products: number, judged: Judged): Judged
  judgeByWrk(tools: Readonly<Record<string, string>>, judged: Judged): Judged
  describePlace(facts: object): string
  formatOutcome(outcome: Outcome): string
  listMissed(outcomes: Readonly<Record<string, Outcome>>): string[]
  toJson(
    found: Readonly<{ run: object; takenAt: string; outcomes: Readonly<Record<string, Outcome>> }>,
  ): object
}>
type Scenario = Readonly<{ name: string; about: string; page?: string; isSimulated?: boolean }>
type Scenarios = Readonly<{ SCENARIOS: readonly Scenario[] }>
type Docs = Readonly<{
  replaceFigures(page: string, place: string, text: string): string
  findPage(scenario: Scenario): string
  namePlace(scenario: Scenario, major: number): string
}>

const {
  judgeAtLeast,
  judgeAtMost,
  judgeOfMany,
  judgeByWrk,
  describePlace,
  formatOutcome,
  listMissed,
  toJson,
} = await importBench<Report>('lib/report.mjs')
const { findPage, namePlace, replaceFigures } = await importBench<Docs>('lib/docs.mjs')

const OUTCOME: Outcome = {
  tables: [{ title: 'A box', columns: ['', 'requests/s'], rows: [['Vitrine', 900]] }],
  promises: [
    judgeAtLeast('of bare', { value: 0.9, limit: 0.9 }),
    judgeAtMost('p99', { value: 24.04, limit: 24, unit: ' ms' }),
    { text: 'two workers', measured: '1.10', holds: null },
  ],
  notes: ['nginx: not installed here, left out.'],
  rounds: { Vitrine: [{ perSecond: 900 }] },
  memoryMb: { 'after the load': 99.6 },
}

describe('the report of the bench', () => {
  it('a promise - at its limit - holds, and beyond it does not', () => {
    expect(judgeAtLeast('x', { value: 0.9, limit: 0.9 }).holds).toBe(true)
    expect(judgeAtLeast('x', { value: 0.8999, limit: 0.9 }).holds).toBe(false)
    expect(judgeAtMost('x', { value: 150, limit: 150 }).holds).toBe(true)
    expect(judgeAtMost('x', { value: 150.1, limit: 150 }).holds).toBe(false)
    expect(judgeAtLeast('x', { value: Number.NaN, limit: 0.9 }).holds).toBe(false)
    expect(judgeAtMost('x', { value: Number.NaN, limit: 0.9 }).holds).toBe(false)
  })

  it('a promise - where less was measured than it speaks of - is not judged, and says why', () => {
    const missed = judgeAtMost('p99', { value: 30, limit: 20 })
    expect(judgeOfMany(100_000, missed)).toEqual(missed)
    expect(judgeByWrk({ wrk: '4.1.0' }, missed)).toEqual(missed)
    const promises = [judgeOfMany(99_999, missed), judgeByWrk({}, missed)]
    expect(listMissed({ walk: { tables: [], promises } })).toEqual([])
    const text = formatOutcome({ tables: [], promises })
    expect(text).toContain('| p99: at most 20.00 | 30.00 | not judged: fewer than 100,000 products |')
    expect(text).toContain('| p99: at most 20.00 | 30.00 | not judged: wrk is not installed here |')
  })

  it('the place of figures - names day and version, and no commit', () => {
    const machine = {
      version: '0.1.0',
      node: 'v20.19.0',
      cores: 2,
      cpu: 'a CPU',
      kernel: '6.1',
      loadAverage: 0.25,
    }
    const facts = { machine: { ...machine, commit: '89db4ba' }, tools: {}, takenOn: '2026-01-02' }
    expect(describePlace(facts)).toBe(
      '2026-01-02, Vitrine 0.1.0, Node v20.19.0, 2 cores of a CPU, Linux 6.1, autocannon, load 0.3 at the start',
    )
  })

  it('an outcome - as Markdown - has its table, promises, memory and notes', () => {
    expect(formatOutcome(OUTCOME)).toBe(`A box:

|  | requests/s |
| --- | ---: |
| Vitrine | 900 |

| promise | measured | |
| --- | ---: | --- |
| of bare: at least 0.90 | 0.90 | holds |
| p99: at most 24.00 ms | 24.04 ms | does not hold |
| two workers | 1.10 | not judged here |

Memory of the server: after the load 100 MB.

- nginx: not installed here, left out.
`)
  })

  it('missed promises - are those that do not hold; what is not judged is none', () => {
    expect(listMissed({ hot: OUTCOME })).toEqual(['hot: p99: at most 24.00 ms; measured 24.04 ms'])
  })

  it('the file - has facts of the machine, options, and every round', () => {
    const machine = { cpu: 'a CPU', cores: 2, node: 'v20.19.0' }
    const options = { rounds: 5, seconds: 2, products: 100, jsonPath: '/somewhere' }
    const run = { options, machine, tools: { wrk: '4.1.0' }, isPinned: true, folder: '/elsewhere' }
    expect(toJson({ run, takenAt: '2026-01-02T03:04:05.000Z', outcomes: { hot: OUTCOME } })).toEqual({
      takenAt: '2026-01-02T03:04:05.000Z',
      machine,
      tools: { wrk: '4.1.0' },
      isPinned: true,
      options: { rounds: 5, seconds: 2, products: 100 },
      scenarios: { hot: OUTCOME },
    })
  })

  it('figures - put into a page - replace those between their own markers only', () => {
    const page =
      'a\n<!-- figures: hot 20 -->\n\nold\n\n<!-- end -->\nb\n<!-- figures: hot 24 -->\n<!-- end -->\n'
    expect(replaceFigures(page, 'hot 20', '\nnew\n')).toBe(
      'a\n<!-- figures: hot 20 -->\n\nnew\n\n<!-- end -->\nb\n<!-- figures: hot 24 -->\n<!-- end -->\n',
    )
    expect(() => replaceFigures(page, 'zipf 20', 'new')).toThrow('no place')
  })

  it('pages - for every scenario and both Nodes - have a place for its figures, which says when they were taken or that they were not, and docs/performance.md says what it does', async () => {
    const { SCENARIOS } = await importBench<Scenarios>('scenarios/index.mjs')
    for (const scenario of SCENARIOS) {
      const { name } = scenario
      expect(readPage('docs/performance.md')).toMatch(new RegExp(`^\\|[^|]*\`${name}\`[^|]*\\|`, 'm'))
      const page = readPage(findPage(scenario))
      for (const major of [20, 24]) {
        const place = namePlace(scenario, major)
        const [, block] = page.split(`<!-- figures: ${place} -->`)
        // What is simulated is the same wherever and whenever it runs.
        const beginning =
          scenario.isSimulated === true
            ? '.+:\\n\\n\\| '
            : `\\d{4}-\\d\\d-\\d\\d, .*\\bNode v${major}\\.|Not measured on Node ${major}\\b`
        expect(block?.trim(), place).toMatch(new RegExp(`^(?:${beginning})`))
        const changed = replaceFigures(page, place, 'new figures')
        expect(changed, name).toContain(`<!-- figures: ${place} -->\n\nnew figures\n\n<!-- end -->`)
      }
    }
  })

  it('figures - of a scenario with a page of its own, or that is simulated - have their place there', () => {
    const scenario = { name: 'hot', about: 'one box' }
    expect([findPage(scenario), namePlace(scenario, 24)]).toEqual(['docs/performance.md', 'hot 24'])
    const simulated = { ...scenario, page: 'docs/sizing.md', isSimulated: true }
    expect([findPage(simulated), namePlace(simulated, 24)]).toEqual(['docs/sizing.md', 'hot'])
  })
})

function readPage(path: string): string {
  return readFileSync(join(PACKAGE_FOLDER, path), 'utf8')
}
