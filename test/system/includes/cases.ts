import { expect, it, vi } from 'vitest'
import type { Gate, GateMode } from './gate.ts'
import { readTable } from './recipe.ts'
import type { Sight } from './sight.ts'
import { VISITOR_HEADERS, findVisitorHeaders } from './visitor.ts'

/** Heading of the table of pages that nothing is kept for yet. */
export const COLD_TABLE = 'Nothing kept yet'

/** Heading of the table of pages whose box is kept, and no longer fresh. */
export const KEPT_TABLE = 'With a box kept'

/** What a consumer meets, by the column of both tables. */
const MODES: Readonly<Record<string, GateMode>> = {
  shown: 'shown',
  hidden: 'hidden',
  'no-store': 'unavailable',
  '500': '500',
  hang: 'hang',
  reset: 'reset',
  down: 'down',
}

/** A consumer under test. */
export type Subject = Readonly<{
  gate(): Gate
  /** What is seen of a page that was never asked for before. */
  open(): Promise<Sight>
}>

/** One test for each cell of a row: what is seen is what the page says. */
export function itIsAsTheTableSays(row: string, subject: Subject): void {
  for (const [column, mode] of listColumns(COLD_TABLE)) {
    it(`${row} - ${column} - ${readCell(COLD_TABLE, row, column)}`, async () => {
      await subject.gate().setMode(mode)
      const cell = readCell(COLD_TABLE, row, column)
      const first = await subject.open()
      // A machine that does something else for three seconds is no consumer that waits.
      const seen = first === 'waits' && cell !== 'waits' ? await subject.open() : first
      expect(seen).toBe(cell)
    })
  }
}

/** Opens a page once more. */
export type See = (headers?: Readonly<Record<string, string>>) => Promise<Sight>

/** A consumer that may keep a box. */
export type Keeper = Readonly<{
  gate(): Gate
  /** One opening asks the server and settles what is seen: builds, and programs without a refresh behind. */
  isSettledAtOnce?: true
  /** Opens a page of its own for the test, and again and again the same one. */
  open(): Promise<See>
}>

/** Freshness that the gate gives, and the time after which every consumer's clock must have noticed that it is over. */
const FRESH_SECONDS = 1
const SURELY_OLD_MS = 2200

/**
 * One test for each cell of a row: a box is shown, the gate changes, the box's second of freshness passes, the consumer
 * asks again, and what is seen then and the next times is what the page says. A box that stays is there at every visit.
 */
export function itKeepsAsTheTableSays(row: string, keeper: Keeper): void {
  for (const [column, mode] of listColumns(KEPT_TABLE)) {
    const cell = readCell(KEPT_TABLE, row, column)
    it(`${row}, box kept - ${column} - ${cell}`, async () => {
      const gate = keeper.gate()
      gate.setMaxAge(FRESH_SECONDS)
      await gate.setMode('shown')
      const see = await openShown(keeper)
      const shownAtMs = Date.now()
      await gate.setMode(mode)
      const seen = await visitUntilOld({ gate, mode, see, shownAtMs })
      // A box that stays is seen at every visit; any other answer of the server's shows sooner or later.
      expect(new Set(cell === 'box' ? seen : [cell])).toEqual(new Set([cell]))
      expect(keeper.isSettledAtOnce === true ? seen.at(-1) : await waitAndSee(see, cell)).toBe(cell)
    })
  }
}

/** What is seen the next time after it was seen for the first time. */
async function waitAndSee(see: See, cell: string): Promise<Sight> {
  await vi.waitFor(async () => expect(await see()).toBe(cell), { timeout: 8000, interval: 50 })
  return see()
}

/**
 * A page that shows its box: after an outage a consumer may need a moment until it asks again. It is opened twice, since a
 * program may put a box away a moment after it has sent it.
 */
export async function openShown(keeper: Pick<Keeper, 'open' | 'isSettledAtOnce'>): Promise<See> {
  return vi.waitFor(
    async () => {
      const see = await keeper.open()
      expect(await see()).toBe('box')
      expect(keeper.isSettledAtOnce === true ? 'box' : await see()).toBe('box')
      return see
    },
    { timeout: 8000, interval: 50 },
  )
}

type Wait = Readonly<{ gate: Gate; mode: GateMode; see: See; shownAtMs: number }>

/** Until the box is no longer fresh by any clock and the consumer has asked for another, as far as that can be seen. */
async function visitUntilOld({ gate, mode, see, shownAtMs }: Wait): Promise<readonly Sight[]> {
  const before = gate.requests.length
  const seen: Sight[] = []
  await vi.waitFor(
    async () => {
      seen.push(await see())
      const isOld = mode === 'down' ? Date.now() - shownAtMs > SURELY_OLD_MS : gate.requests.length > before
      expect(isOld).toBe(true)
    },
    { timeout: 15_000, interval: 100 },
  )
  return seen
}

/** What is seen of a kept box in an outage, once the server's own limit for old boxes is over. */
export function itSeesAfterTheLimit(row: string, keeper: Keeper, sight: Sight): void {
  it(`${row}, box kept - longer than stale-if-error, 500 - ${sight}`, async () => {
    const gate = keeper.gate()
    gate.setMaxAge(FRESH_SECONDS, 0)
    await gate.setMode('shown')
    const see = await openShown(keeper)
    const shownAtMs = Date.now()
    await gate.setMode('500')
    await visitUntilOld({ gate, mode: 'down', see, shownAtMs })
    expect([await see(), await see()]).toEqual([sight, sight])
  })
}

/** Whatever a visitor sends along stays outside, and the box is whole for the next one. */
export function itKeepsVisitorsOut(row: string, keeper: Keeper): void {
  it(`${row} - a visitor's own headers - never reach the server, nor change the box`, async () => {
    const gate = keeper.gate()
    await gate.setMode('shown')
    await openShown(keeper)
    const see = await keeper.open()
    const before = gate.requests.length
    await see(VISITOR_HEADERS)
    expect(gate.requests.length).toBeGreaterThan(before)
    expect(gate.requests.slice(before).flatMap(findVisitorHeaders)).toEqual([])
    expect(await see()).toBe('box')
  })
}

function listColumns(table: string): readonly (readonly [string, GateMode])[] {
  const [first] = readTable(table).values()
  return [...(first?.keys() ?? [])].slice(1).map((column) => [column, MODES[column] ?? 'down'])
}

function readCell(table: string, row: string, column: string): string {
  const cell = readTable(table).get(row)?.get(column)
  if (cell === undefined) throw new Error(`docs/embedding.md, "${table}" has no cell ${row} x ${column}`)
  return cell
}
