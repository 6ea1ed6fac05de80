import { LANES, type Lane, type LaneTarget, type OpenLane } from './lanes.ts'
import type { StatementLog } from './statement-log.ts'
import type { VirtualTime } from './virtual-time.ts'
import { listCauses } from '../../../src/database/failures.ts'
import { StoreError, VitrineError } from '../../../src/errors.ts'

/** No timer of the program is due at the moment of a call. */
const OFFSET_MS = 30
const RETRY_MS = 100
const MAX_RETRIES = 700

export type Fault = Readonly<{
  name: string
  /** Whether the fault begins before the store is opened. */
  isBeforeOpening?: boolean
  start(lane: Lane): Promise<void> | void
  end(lane: Lane): Promise<void> | void
}>

/** One database with the fault in front of it. */
export type FaultSetup = Readonly<{
  time: VirtualTime
  log: StatementLog
  target: LaneTarget
  /** Replace what differs between machines. */
  normalize(text: string): string
}>

/** Record what each lane returns during the fault and after it; `prepare` sets up a database for one case. */
export async function recordFault(
  fault: Fault,
  prepare: (lane: Lane) => Promise<FaultSetup & Readonly<{ dispose(): Promise<void> | void }>>,
): Promise<string> {
  const blocks: { lanes: string[]; text: string }[] = []
  for (const lane of LANES) {
    const setup = await prepare(lane)
    try {
      const found = await recordCase(fault, lane, setup)
      const text = found
        .map(
          (line) =>
            `    ${setup.normalize(line).replaceAll(`failed at ${lane.method}`, 'failed at METHOD')}\n`,
        )
        .join('')
      const name = `${lane.side} ${lane.name}`
      const last = blocks.at(-1)
      if (last?.text === text) last.lanes.push(name)
      else blocks.push({ lanes: [name], text })
    } finally {
      await setup.dispose()
    }
  }
  const lines = blocks.map(({ lanes, text }) => `  ${lanes.join(', ')}\n${text}`)
  return `# ${fault.name}\n${lines.join('')}`
}

async function recordCase(fault: Fault, lane: Lane, setup: FaultSetup): Promise<readonly string[]> {
  const { time } = setup
  // No time passes for the program until it has noticed, for example, that connections broke.
  const start = async (): Promise<void> => {
    await fault.start(lane)
    await time.pass(0)
  }
  const end = async (): Promise<void> => {
    await fault.end(lane)
    await time.pass(0)
  }
  const open = (): Promise<OpenLane> => time.settle(lane.open(setup.target))
  if (fault.isBeforeOpening === true) {
    await start()
    const opened: OpenLane[] = []
    const opening = await measure(setup, async () => {
      opened.push(await lane.open(setup.target))
      return 'opened'
    })
    const [store] = opened
    if (store !== undefined) return [opening.text, ...(await recordCalls(store, setup, end))]
    await end()
    const second = await open()
    await time.settle(second.close())
    return [opening.text, 'opens again after the fault']
  }
  const store = await open()
  await time.settle(store.call())
  await time.pass(OFFSET_MS)
  await start()
  return recordCalls(store, setup, end)
}

/** Record two calls during the fault, health, and how the store recovers; then close it. */
async function recordCalls(
  store: OpenLane,
  setup: FaultSetup,
  end: () => Promise<void>,
): Promise<readonly string[]> {
  const { time } = setup
  const first = await measure(setup, store.call)
  await time.pass(OFFSET_MS)
  const second = await measure(setup, store.call)
  const lines = [first.text, second.text === first.text ? 'again: the same' : `again: ${second.text}`]
  lines.push(...store.readHealth())
  await end()
  if (first.isFailure || second.isFailure) {
    lines.push(await recordRecovery(store, setup))
    lines.push(...store.readHealth().map((line) => `then ${line}`))
  }
  await time.settle(store.close())
  return lines
}

async function recordRecovery(store: OpenLane, setup: FaultSetup): Promise<string> {
  const { time, log } = setup
  const startMs = time.passedMs()
  const connections = log.connections()
  for (let retries = 0; retries < MAX_RETRIES; retries += 1) {
    const { isFailure, value } = await measure(setup, store.call)
    if (!isFailure) {
      const opened = log.connections() - connections
      return `after the fault: ${value} after ${time.passedMs() - startMs} ms, ${opened} new connections`
    }
    await time.pass(retries === 0 ? OFFSET_MS : RETRY_MS)
  }
  return 'after the fault: does not recover'
}

async function measure(
  { time, log }: FaultSetup,
  call: () => Promise<string>,
): Promise<Readonly<{ value: string; text: string; isFailure: boolean }>> {
  const startMs = time.passedMs()
  const before = log.attempts()
  let endMs = startMs
  let isFailure = false
  const result = call()
    .catch((error: unknown) => {
      isFailure = true
      return describeError(error)
    })
    .finally(() => (endMs = time.passedMs()))
  const value = await time.settle(result)
  const text = `${value} | attempts ${log.attempts() - before}, ${Math.round(endMs - startMs)} ms`
  return { value, text, isFailure }
}

/** Class, code and message of an error, and those of the cause that the database reported. */
function describeError(error: unknown): string {
  const [outer, ...causes] = listCauses(error)
  if (outer === undefined) return `thrown: ${String(error)}`
  const cause = causes.at(-1)
  const reason = cause === undefined || cause.message === outer.message ? '' : ` < ${describeCause(cause)}`
  if (!(outer instanceof VitrineError)) return `${outer.constructor.name} ${describeCause(outer)}${reason}`
  const marks = outer instanceof StoreError && outer.isUnreachable ? ' (unreachable)' : ''
  return `${outer.name} ${outer.code}${marks} "${outer.describeWithRemedy()}"${reason}`
}

function describeCause(cause: Error): string {
  // The SQLite drivers give every error the same code.
  const code = 'code' in cause && cause.code !== 'ERR_SQLITE_ERROR' ? `${String(cause.code)} ` : ''
  return `${code}"${cause.message}"`
}
