import { array, assert, double, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { importBench } from './bench-library.ts'

type Statistics = Readonly<{
  computeMedian(numbers: readonly number[]): number
  computeQuantile(numbers: readonly number[], share: number): number
  createRandom(seed: number): () => number
  drawZipfRanks(wanted: Readonly<{ count: number; draws: number; seed: number }>): number[]
}>

const { computeMedian, computeQuantile, createRandom, drawZipfRanks } =
  await importBench<Statistics>('lib/statistics.mjs')

const drawFive = (seed: number): number[] => Array.from({ length: 5 }, createRandom(seed))

const someNumbers = array(double({ noNaN: true, min: -1e9, max: 1e9 }), { minLength: 1 })

describe('benchmark statistics', () => {
  it('median - of odd and even counts - is the middle number, or the mean of the two middle numbers', () => {
    expect(computeMedian([9, 1, 5])).toBe(5)
    expect(computeMedian([9, 1, 5, 6])).toBe(5.5)
    expect(computeMedian([100, 20, 3])).toBe(20)
  })

  it('quantile - of any numbers - is one of them, and at least the requested share is less than or equal to it', () => {
    assert(
      property(someNumbers, double({ min: 0.01, max: 1, noNaN: true }), (numbers, share) => {
        const found = computeQuantile(numbers, share)
        expect(numbers.some((number) => number === found)).toBe(true)
        const below = numbers.filter((number) => number <= found).length
        expect(below).toBeGreaterThanOrEqual(numbers.length * share - 1e-9)
        const strictlyBelow = numbers.filter((number) => number < found).length
        expect(strictlyBelow).toBeLessThan(numbers.length * share + 1e-9)
      }),
    )
  })

  it('quantile - of a hundred numbers - is the nearest rank', () => {
    const numbers = Array.from({ length: 100 }, (_, index) => 100 - index)
    expect([0.5, 0.99, 1].map((share) => computeQuantile(numbers, share))).toEqual([50, 99, 100])
  })

  it('empty list - median and quantile throw', () => {
    expect(() => computeMedian([])).toThrow(RangeError)
    expect(() => computeQuantile([], 0.5)).toThrow(RangeError)
  })

  it('random numbers - of one seed - are the same each time; another seed gives different ones', () => {
    expect(drawFive(1)).toEqual(drawFive(1))
    expect(drawFive(1)).not.toEqual(drawFive(2))
    for (const number of drawFive(3)) expect(number >= 0 && number < 1).toBe(true)
  })

  it('Zipf ranks - of many draws - have frequencies proportional to 1/rank, and stay within the count', () => {
    const ranks = drawZipfRanks({ count: 100, draws: 50_000, seed: 3 })
    const counts = Array.from({ length: 100 }, () => 0)
    for (const rank of ranks) counts[rank] = (counts[rank] ?? Number.NaN) + 1
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(50_000)
    const [first = 0, second = 0, , , , , , , , tenth = 0] = counts
    expect(first / second).toBeCloseTo(2, 0)
    expect(first / tenth).toBeGreaterThan(8)
    expect(first / tenth).toBeLessThan(12)
  })
})
