import { describe, expect, test } from 'vitest'
import { importBench } from './bench-library.ts'

type CheckedTarget = Readonly<{ text: string; measured: string; isMet: boolean | null }>
type Range = Readonly<{ median: number; min: number; max: number }>
type Target = Readonly<{
  atLeast?: number
  atMost?: number
  unit?: string
  digits?: number
  products?: number
}>
type Outcome = Readonly<{
  tables: readonly Readonly<{
    title: string
    columns: readonly string[]
    rows: readonly (readonly string[])[]
  }>[]
  targets: readonly CheckedTarget[]
  notes?: readonly string[]
}>
const { checkTarget, formatOutcome } = await importBench<{
  checkTarget(text: string, value: number | Range, target: Target): CheckedTarget
  formatOutcome(outcome: Outcome): string
}>('lib/report.mjs')

type Rounds = Readonly<Record<string, readonly Readonly<Record<string, number>>[]>>
const { computeRatio, runRounds } = await importBench<{
  computeRatio(rounds: Rounds, wanted: Readonly<{ of: string; to: string; field: string }>): Range
  runRounds(
    run: object,
    subjects: Readonly<Record<string, (seconds: number) => Promise<unknown>>>,
  ): Promise<Readonly<Record<string, readonly unknown[]>>>
}>('lib/rounds.mjs')

describe('targets', () => {
  test('value exactly at the target - is met', () => {
    expect(checkTarget('of bare', 0.95, { atLeast: 0.95 }).isMet).toBe(true)
    expect(checkTarget('CPU', 200, { atMost: 200, unit: ' µs', digits: 0 })).toEqual({
      text: 'CPU: at most 200 µs',
      measured: '200 µs',
      isMet: true,
    })
  })

  test('ratio of rounds - its median is checked and its range is shown', () => {
    expect(checkTarget('of bare', { median: 0.9, min: 0.8, max: 1.1 }, { atLeast: 0.95 })).toEqual({
      text: 'of bare: at least 0.95',
      measured: '0.90 (0.80–1.10)',
      isMet: false,
    })
  })

  test('fewer products than a target needs - the target is not checked', () => {
    expect(checkTarget('walk', 0.1, { atLeast: 0.4, products: 99_999 }).isMet).toBeNull()
    expect(checkTarget('walk', 0.1, { atLeast: 0.4, products: 100_000 }).isMet).toBe(false)
  })
})

test('ratio - is computed round by round', () => {
  const rounds = {
    vitrine: [{ cpuUs: 1 }, { cpuUs: 6 }, { cpuUs: 2 }],
    peer: [{ cpuUs: 2 }, { cpuUs: 3 }, { cpuUs: 2 }],
  }
  expect(computeRatio(rounds, { of: 'vitrine', to: 'peer', field: 'cpuUs' })).toEqual({
    median: 1,
    min: 0.5,
    max: 2,
  })
})

test('rounds - each subject is measured once per round, and each round starts with a different one', async () => {
  const order: string[] = []
  const subject = (name: string) => (seconds: number) => Promise.resolve(void order.push(`${name}${seconds}`))
  const run = { options: { rounds: 2, seconds: 4 }, log: () => {} }
  await runRounds(run, { a: subject('a'), b: subject('b') })
  expect(order).toEqual(['a12', 'b12', 'a4', 'b4', 'b4', 'a4'])
})

test('outcome - is Markdown with tables, targets and notes', () => {
  const text = formatOutcome({
    tables: [{ title: 'A box', columns: ['', 'CPU µs'], rows: [['Vitrine', '13']] }],
    targets: [checkTarget('of bare', 1, { atLeast: 0.95 })],
    notes: ['Nothing else ran.'],
  })
  expect(text).toBe(
    `A box:

|  | CPU µs |
| --- | ---: |
| Vitrine | 13 |

| target | measured |  |
| --- | ---: | ---: |
| of bare: at least 0.95 | 1.00 | met |

- Nothing else ran.
`,
  )
})
