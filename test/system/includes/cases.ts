import { expect, it, vi } from 'vitest'
import type { Gate, GateMode, Lane, PageLane } from './gate.ts'
import type { Place } from './place.ts'
import { readTable } from './recipe.ts'
import { HANG_PATIENCE_MS, type Sight, WAITING_MS } from './sight.ts'
import { VISITOR_HEADERS, findVisitorHeaders } from './visitor.ts'

/** Heading of the table of pages that nothing is kept for yet. */
export const COLD_TABLE = 'Without a cached box'

/** Heading of the table of pages whose box is kept, and no longer fresh. */
export const KEPT_TABLE = 'With a cached box'

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

/** A consumer whose pages each have a lane of the gate: its tests run at once. */
type Apart = Readonly<{
  place(): Pick<Place, 'gate' | 'nextName'>
  /** How long a page may take from the moment at which the server hangs; more than usual where it goes on building. */
  patienceMs?: number
}>

/** A consumer whose pages share the gate: its tests run one after the other. */
type Together = Readonly<{ gate(): Gate }>

/** A consumer under test. `open` says what is seen of a page that was never asked for before. */
export type Subject =
  | (Apart & Readonly<{ open(lane: PageLane): Promise<Sight> }>)
  | (Together & Readonly<{ open(): Promise<Sight> }>)

/** One test for each cell of a row: what is seen is what the page says. */
export function itIsAsTheTableSays(row: string, subject: Subject): void {
  for (const [column, mode] of listColumns(COLD_TABLE)) {
    const cell = readCell(COLD_TABLE, row, column)
    itAtOnce(mode, subject)(`${row} - ${column} - ${cell}`, async ({ onTestFinished }) => {
      const open = (): Promise<Sight> => openIn(mode, { subject, cell, onTestFinished })
      expect(await (cell === 'box' ? openUntilBox(open) : open())).toBe(cell)
    })
  }
}

/**
 * A consumer on a machine that stands still takes the server for one that does not answer. The next two pages must show the box
 * then: one that is there every second time is none.
 */
async function openUntilBox(open: () => Promise<Sight>): Promise<Sight> {
  if ((await open()) === 'box') return 'box'
  const second = await open()
  return second === 'box' ? open() : second
}

type AtEnd = (end: () => Promise<void>) => void

/** What is seen of a page that was never asked for before. */
async function openIn(
  mode: GateMode,
  { subject, cell, onTestFinished }: Readonly<{ subject: Subject; cell: string; onTestFinished: AtEnd }>,
): Promise<Sight> {
  if ('place' in subject) {
    const lane = openLane(subject, onTestFinished, cell)
    await lane.setMode(mode)
    return subject.open(lane)
  }
  await subject.gate().setMode(mode)
  const first = await subject.open()
  // A busy machine can stand still for longer than a reader waits, so a page that should not wait is opened once more.
  return first === 'waits' && cell !== 'waits' ? subject.open() : first
}

/** A gate that is down is down for all pages. */
const itAtOnce = (mode: GateMode, subject: Apart | Together): typeof it =>
  'place' in subject && mode !== 'down' ? (it.concurrent as typeof it) : it

/** A lane of a page of its own, which is cut off when the test is over; the gate is up then, whatever the test did. */
function openLane({ place, patienceMs = HANG_PATIENCE_MS }: Apart, atEnd: AtEnd, cell?: string): PageLane {
  const { gate, nextName } = place()
  const lane = gate.openLane(nextName(), cell === 'waits' ? WAITING_MS : patienceMs)
  atEnd(async () => {
    await lane.setMode('shown')
    lane.close()
  })
  return lane
}

/** Opens a page once more. */
export type See = (headers?: Readonly<Record<string, string>>) => Promise<Sight>

/** A consumer that may keep a box. */
export type Keeper = Readonly<{
  /** One opening asks the server and settles what is seen: builds, and programs without a refresh behind. */
  isSettledAtOnce?: true
}> &
  // `open` makes a page of its own for the test, and what it gives opens again and again the same one.
  (
    | (Apart & Readonly<{ open(lane: PageLane): Promise<See> }>)
    | (Together & Readonly<{ open(): Promise<See> }>)
  )

/** Freshness that the gate gives, and the time after which every consumer's clock must have noticed that it is over. */
const FRESH_SECONDS = 1
const SURELY_OLD_MS = 2200

/** The limit of the recipes for the server's answer. */
const RECIPE_LIMIT_MS = 1000

/** A page of a keeper's that shows its box, and what it asks. */
type KeptPage = Readonly<{ asked: Lane; see: See }>

/** How a keeper's page is opened: with these stale times, and with this patience. */
type KeptOptions = Readonly<{ atEnd: AtEnd; staleSeconds?: number; cell?: string }>

/** A page that shows its box, which is fresh for a second; where it does not at first, another page is tried. */
async function openKeptPage(keeper: Keeper, options: KeptOptions): Promise<KeptPage> {
  let asked: Lane | undefined
  const see = await openShown({
    ...keeper,
    async open() {
      const lane = 'place' in keeper ? openLane(keeper, options.atEnd, options.cell) : keeper.gate()
      asked = lane
      lane.setMaxAge(FRESH_SECONDS, options.staleSeconds)
      await lane.setMode('shown')
      return keeper.open(lane as PageLane)
    },
  })
  if (asked === undefined) throw new Error('no page was opened')
  return { asked, see }
}

/**
 * One test for each cell of a row: a box is shown, the gate changes, the box's second of freshness passes, the consumer
 * asks again, and what is seen then and the next times is what the page says. A box that stays is there at every visit.
 */
export function itKeepsAsTheTableSays(row: string, keeper: Keeper): void {
  for (const [column, mode] of listColumns(KEPT_TABLE)) {
    const cell = readCell(KEPT_TABLE, row, column)
    itAtOnce(mode, keeper)(`${row}, box kept - ${column} - ${cell}`, async ({ onTestFinished }) => {
      const { asked, see } = await openKeptPage(keeper, { atEnd: onTestFinished, cell })
      const shownAtMs = Date.now()
      await asked.setMode(mode)
      const seen = await visitUntilOld({ asked, mode, see, shownAtMs, isBuild: keeper.isSettledAtOnce })
      // A box that stays is seen at every visit; any other answer of the server's shows sooner or later.
      expect(new Set(cell === 'box' ? seen : [cell])).toEqual(new Set([cell]))
      expect(keeper.isSettledAtOnce === true ? seen.at(-1) : await waitAndSee(see, cell)).toBe(cell)
    })
  }
}

/** What is seen the next time after it was seen for the first time. */
async function waitAndSee(see: See, cell: string): Promise<Sight> {
  await vi.waitFor(async () => expect(await see()).toBe(cell), { interval: 50 })
  return see()
}

/**
 * A page that shows its box: after an outage a consumer may need a moment until it asks again. It is opened twice, since a
 * program may put a box away a moment after it has sent it.
 */
export async function openShown(
  keeper: Readonly<{ isSettledAtOnce?: true; open(): Promise<See> }>,
): Promise<See> {
  return vi.waitFor(
    async () => {
      const see = await keeper.open()
      expect(await see()).toBe('box')
      expect(keeper.isSettledAtOnce === true ? 'box' : await see()).toBe('box')
      return see
    },
    { interval: 50 },
  )
}

type Wait = Readonly<{
  asked: Lane
  mode: GateMode
  see: See
  shownAtMs: number
  /** Most of its time goes into its own start. */
  isBuild?: true | undefined
}>

/** Until the box is no longer fresh by any clock and the consumer has asked for another, as far as that can be seen. */
async function visitUntilOld({ asked, mode, see, shownAtMs, isBuild }: Wait): Promise<readonly Sight[]> {
  const before = asked.requests.length
  const seen: Sight[] = []
  await vi.waitFor(
    async () => {
      const beganAtMs = Date.now()
      const sight = await see()
      // A closed port is refused at once. A page that takes a second all the same is one of a machine that stands still, and the consumer's own limit may have passed.
      if (mode !== 'down' || isBuild === true || Date.now() - beganAtMs < RECIPE_LIMIT_MS) seen.push(sight)
      const isOld = mode === 'down' ? Date.now() - shownAtMs > SURELY_OLD_MS : asked.requests.length > before
      expect({ isOld, isSeen: seen.length > 0 }).toEqual({ isOld: true, isSeen: true })
    },
    { interval: 100 },
  )
  return seen
}

/** What is seen of a kept box in an outage, once the server's own limit for old boxes is over. */
export function itSeesAfterTheLimit(row: string, keeper: Keeper, sight: Sight): void {
  const title = `${row}, box kept - longer than stale-if-error, 500 - ${sight}`
  itAtOnce('500', keeper)(title, async ({ onTestFinished }) => {
    const { asked, see } = await openKeptPage(keeper, { atEnd: onTestFinished, staleSeconds: 0 })
    const shownAtMs = Date.now()
    await asked.setMode('500')
    await visitUntilOld({ asked, mode: 'down', see, shownAtMs })
    expect([await see(), await see()]).toEqual([sight, sight])
  })
}

/** Whatever a visitor sends along stays outside, and the box is whole for the next one. */
export function itKeepsVisitorsOut(row: string, keeper: Keeper): void {
  const title = `${row} - a visitor's own headers - never reach the server, nor change the box`
  itAtOnce('shown', keeper)(title, async ({ onTestFinished }) => {
    const lanes = new Set<Lane>()
    const ask = async (): Promise<KeptPage> => {
      const asked = 'place' in keeper ? openLane(keeper, onTestFinished) : keeper.gate()
      lanes.add(asked)
      await asked.setMode('shown')
      const see = await keeper.open(asked as PageLane)
      expect(await see(VISITOR_HEADERS)).toBe('box')
      return { asked, see }
    }
    const { asked, see } = await vi.waitFor(ask)
    expect(asked.requests.length).toBeGreaterThan(0)
    // Of every page that was tried, also of one that did not show its box.
    expect([...lanes].flatMap(({ requests }) => requests.flatMap(findVisitorHeaders))).toEqual([])
    expect(await see()).toBe('box')
  })
}

function listColumns(table: string): readonly (readonly [string, GateMode])[] {
  const [first] = readTable(table).values()
  return [...(first?.keys() ?? [])].slice(1).map((column) => [column, MODES[column] ?? 'down'])
}

function readCell(table: string, row: string, column: string): string {
  const cell = readTable(table).get(row)?.get(column)
  if (cell === undefined)
    throw new Error(`bench/results/includes.md, "${table}" has no cell ${row} x ${column}`)
  return cell
}
