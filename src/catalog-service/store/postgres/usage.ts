import type { Kysely } from 'kysely'
import type { Clock } from '../../../clock.ts'
import { retryConflicts } from '../../../database/transact.ts'
import type { Caller, CountAnswer, UsageCounter } from '../catalog-store.ts'
import type { UsageTables } from '../schema.ts'
import { createKeyNotes, toUtcDay } from '../usage.ts'
import { runText } from './connections.ts'
import type { Keeper } from './kept.ts'
import type { Opening } from './opening.ts'
import { COUNT_REQUESTS, NOTE_KEY } from './statements.ts'

/** What the counter is made of. */
export type CounterOptions = Readonly<{
  usage: Kysely<UsageTables>
  keeper: Keeper
  opening: Opening
  clock: Clock
}>

/** Someone who waits to be counted. */
type Waiting = Readonly<{
  caller: Caller
  settle(answer: CountAnswer): void
  fail(error: unknown): void
}>

/** Those of an organization who are counted together: the same limit, found in the same state. */
type Line = { waiting: Waiting[] }

/**
 * Counts on a server. An organization's statements follow each other, for they are about one row; who comes meanwhile goes
 * into the next one. A statement whose answer is lost may have counted: never one too many passes, but one less may.
 */
export function createPostgresCounter(options: CounterOptions): UsageCounter {
  const { usage, opening, clock } = options
  const lines = new Map<string, Line>()
  const drain = async (name: string, line: Line): Promise<void> => {
    while (line.waiting.length > 0) {
      const batch = line.waiting
      line.waiting = []
      try {
        await settleAll(options, batch)
      } catch (error) {
        // Who came meanwhile has waited as long.
        for (const one of [...batch, ...line.waiting]) one.fail(error)
        line.waiting = []
      }
    }
    lines.delete(name)
  }
  return {
    count(caller) {
      const { organization, state } = caller
      const name = `${organization.id} ${organization.dailyLimit} ${state}`
      const line = lines.get(name) ?? { waiting: [] }
      if (!lines.has(name)) {
        lines.set(name, line)
        setImmediate(() => void drain(name, line))
      }
      return new Promise((settle, fail) => {
        line.waiting.push({ caller, settle, fail })
      })
    },
    noteKey: createKeyNotes(clock, (keyId, nowMs) => {
      // The request was counted: whoever made it has no part in this.
      opening.ask(() => runText(usage, NOTE_KEY, [keyId, nowMs])).catch(() => {})
    }),
  }
}

/** All of them at once where all are within the limit; else halves, and halves of those, so that as many pass as are allowed. */
async function settleAll(options: CounterOptions, batch: readonly Waiting[]): Promise<void> {
  let rest = batch
  let size = batch.length
  while (size > 0) {
    const answer = await add(options, rest[0]?.caller, size)
    if (answer === 'full') size = Math.floor(size / 2)
    else {
      for (const one of rest.slice(0, size)) one.settle(answer)
      rest = rest.slice(size)
      size = Math.min(size, rest.length)
    }
  }
  for (const one of rest) one.settle('full')
}

async function add(
  { usage, keeper, opening, clock }: CounterOptions,
  caller: Caller | undefined,
  requests: number,
): Promise<CountAnswer> {
  if (caller === undefined) return 'full'
  const { organization, state } = caller
  const limit = organization.dailyLimit ?? Number.MAX_SAFE_INTEGER
  const parameters = [organization.id, toUtcDay(clock.nowMs()), requests, limit, state]
  type Row = Readonly<{ state: string; found: number }>
  const [row] = await opening.ask(() => retryConflicts(() => runText<Row>(usage, COUNT_REQUESTS, parameters)))
  if (row !== undefined && row.found > 0) return 'counted'
  if (row === undefined || row.state === state) return 'full'
  keeper.moveTo(row.state)
  return 'stale'
}
