import { describe, expect, it } from 'vitest'
import { importBench } from './bench-library.ts'

type Options = Readonly<{
  scenarios: readonly string[]
  rounds: number
  seconds: number
  products: number
  jsonPath: string | null
  nodePath: string
  databaseUrl: string | null
  mayJudge: boolean
  writesDocs: boolean
  wantsHelp: boolean
}>
type Scenario = Readonly<{ name: string; about: string; isBig?: boolean }>
type Arguments = Readonly<{
  parseArguments(words: readonly string[], scenarios: readonly Scenario[]): Options
  describeUsage(scenarios: readonly Scenario[]): string
  BenchUsageError: new () => Error
}>

const SCENARIOS: readonly Scenario[] = [
  { name: 'hot', about: 'one box' },
  { name: 'walk', about: 'a walk' },
  { name: 'walk-million', about: 'a long walk', isBig: true },
]

const { parseArguments, describeUsage, BenchUsageError } = await importBench<Arguments>('lib/arguments.mjs')

describe('the arguments of the bench', () => {
  it('no words - run every scenario but the big ones, five rounds of two seconds', () => {
    expect(parseArguments([], SCENARIOS)).toEqual({
      scenarios: ['hot', 'walk'],
      rounds: 5,
      seconds: 2,
      products: 100_000,
      jsonPath: null,
      nodePath: process.execPath,
      databaseUrl: null,
      mayJudge: true,
      writesDocs: false,
      wantsHelp: false,
    })
  })

  it('--big - runs the big ones, too; a name alone - runs that one, big or not', () => {
    expect(parseArguments(['--big'], SCENARIOS).scenarios).toEqual(['hot', 'walk', 'walk-million'])
    expect(parseArguments(['walk-million'], SCENARIOS).scenarios).toEqual(['walk-million'])
  })

  it('scenarios in any order - run in their own', () => {
    expect(parseArguments(['walk', 'hot'], SCENARIOS).scenarios).toEqual(['hot', 'walk'])
  })

  it('every option - is read', () => {
    const words =
      '--rounds 3 --seconds 0.5 --products 2000 --json a.json --node n --database postgres://d --no-judge --write-docs --help'
    expect(parseArguments(words.split(' '), SCENARIOS)).toMatchObject({
      rounds: 3,
      seconds: 0.5,
      products: 2_000,
      jsonPath: 'a.json',
      nodePath: 'n',
      mayJudge: false,
      writesDocs: true,
      wantsHelp: true,
    })
  })

  it.each([
    [['hott'], 'no scenario hott; there are hot, walk, walk-million'],
    [['--rounds', '0'], '--rounds expects a whole number from 1 on, in digits, not 0'],
    [['--rounds', '1.5'], '--rounds expects a whole number from 1 on, in digits, not 1.5'],
    [['--rounds', ''], '--rounds expects a whole number from 1 on, in digits, not nothing'],
    [['--seconds', 'two'], '--seconds expects a number from 0.1 on, in digits, not two'],
    [['--seconds', '-1'], '--seconds expects a number from 0.1 on, in digits, not -1'],
    [['--seconds', '1e2'], '--seconds expects a number from 0.1 on, in digits, not 1e2'],
    [['--products', '199'], '--products expects a whole number from 200 on, in digits, not 199'],
    [['--products', '1e3'], '--products expects a whole number from 200 on, in digits, not 1e3'],
    [['--slow'], 'no option --slow; npm run bench -- --help lists all'],
    [['-x', '3'], 'no option -x; npm run bench -- --help lists all'],
    [['--json'], '--json expects a value'],
    [['--json', '--big'], '--json expects a value'],
    [['--big=yes'], '--big takes no value'],
    [['--help=yes'], '--help takes no value'],
  ])('%j - is refused with a line that says why', (words, message) => {
    const read = (): Options => parseArguments(words, SCENARIOS)
    expect(read).toThrow(BenchUsageError)
    expect(read).toThrow(expect.objectContaining({ message }))
  })

  it('--help - names every scenario and every option', () => {
    const text = describeUsage(SCENARIOS)
    for (const { name, about } of SCENARIOS) expect(text).toMatch(new RegExp(`^  ${name} +${about}$`, 'm'))
    for (const name of ['rounds', 'seconds', 'products', 'big', 'json', 'node', 'no-judge', 'write-docs'])
      expect(text).toContain(`  --${name} `)
  })
})
