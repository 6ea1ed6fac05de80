import { importBench } from '../../bench/bench-library.ts'

/** A cell of the simulation, as far as tests set it. */
export type Plan = Readonly<{
  viewsPerDay: number
  products: number
  channels?: number
  points?: number
  hasShield?: boolean
  replicas?: number
  entries?: number
  dailyLimit?: number | null
  pageSeconds?: number
  seed?: number
}>

/** Calls of a day by what pays for them. */
export type Calls = Readonly<Record<'walk' | 'refresh' | 'lookup', number>>

/** What a simulated day was like; shares are from 0 to 1. */
export type Found = Readonly<{
  boxCount: number
  views: number
  offload: number
  fromEdge: number
  originPerSecond: number
  originPeakPerSecond: number
  hotShare: number
  readsPerSecond: number
  calls: Calls
  spentAtS: number | undefined
  walksPerDay: number
  pages: number
  meanAgeS: number
  olderShares: Readonly<Record<number, number>>
}>

type Simulate = (plan: Plan, options?: Readonly<{ isWhole?: boolean; samples?: number }>) => Promise<Found>
type Fleet = Readonly<{
  simulateCell: Simulate
  computeNeededLimit(calls: Calls): number
}>
type Rules = Readonly<{ divideLimit(limitCalls: number): Calls }>
type Copy = Readonly<{ madeAtS: number; maxAgeS: number; whileRevalidateS: number }>
type Origin = Readonly<{ judgeCopy(copy: Copy | undefined, timeS: number): string }>

export const { simulateCell, computeNeededLimit } = await importBench<Fleet>('simulation/fleet.mjs')

const known = new Map<string, Promise<Found>>()

/** The same, once for all tests that ask for it: a simulation says the same each time. */
export const simulateOnce: Simulate = (...order) => {
  const key = JSON.stringify(order)
  const found = known.get(key) ?? simulateCell(...order)
  known.set(key, found)
  return found
}
export const { divideLimit } = await importBench<Rules>('simulation/rules.mjs')
export const { judgeCopy } = await importBench<Origin>('simulation/origin.mjs')
