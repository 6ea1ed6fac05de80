import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EXITED_PROCESS, LEASE_KINDS, type Lease, type LeaseDatabase, type LeaseKind } from './lease-kinds.ts'

/** Processes that compete for the lease, and one that acquires it in the end. All others share a connection. */
const PROCESSES = ['first', 'second', 'third'] as const
const SUCCESSOR = 'successor'
const OTHERS = 'others'

/** A lease as every kind of lease must behave, without the program's code. */
class Model {
  /** By the clock of the leases; only differences matter. */
  nowMs = 0
  holder: string | null = null
  untilMs = 0
  hasHolderExited = false
  /** Processes that acquired the lease, and have neither released nor noticed that they lost it. */
  readonly believers = new Set<string>()
  readonly crashed = new Set<string>()
  killedCount = 0
  readonly #kind: LeaseKind

  constructor(kind: LeaseKind) {
    this.#kind = kind
  }

  get #remainingMs(): number {
    return this.untilMs - this.nowMs
  }

  get isFree(): boolean {
    const remainingMs = this.#remainingMs
    // A lease with more than twice its time was acquired before the clock was set back.
    const isOver = remainingMs <= 0 || remainingMs > 2 * this.#kind.forMs
    return this.holder === null || isOver || (this.hasHolderExited && this.#kind.endsWithProcess)
  }

  /** Whether the test can predict what is free afterwards: an expired lease that may have been deleted must not come back. */
  canPass(byMs: number): boolean {
    return !this.#kind.isSwept || this.#remainingMs > 0 || this.#remainingMs - byMs <= 0
  }

  grant(owner: string): void {
    this.holder = owner
    this.untilMs = this.nowMs + this.#kind.forMs
    this.hasHolderExited = false
  }

  /** The process ends its lease, or what it believes to be its lease. */
  release(owner: string): void {
    this.believers.delete(owner)
    if (this.holder === owner) this.holder = null
  }
}

/** The leases under test, and their owners. */
type Real = Readonly<{ database: LeaseDatabase; kind: LeaseKind; get(owner: string): Lease }>

type Command = fc.AsyncCommand<Model, Real>

function createCommand(
  name: string,
  check: (model: Model) => boolean,
  run: (model: Model, real: Real) => Promise<void>,
): Command {
  return { toString: () => name, check, run }
}

/** Each process acquires the lease, or extends the one that it believes to have; two at once race for it. */
function createTry(owners: readonly string[], { canExtend }: LeaseKind): Command {
  const canTry = (model: Model, owner: string): boolean =>
    !model.crashed.has(owner) && (canExtend || !model.believers.has(owner))
  return createCommand(
    `${owners.join(' and ')} acquire or extend`,
    (model) => owners.every((owner) => canTry(model, owner)),
    async (model, { get }) => {
      const candidates = owners.filter((owner) =>
        model.believers.has(owner) ? model.holder === owner : model.isFree,
      )
      const results = await Promise.all(
        owners.map(async (owner) =>
          model.believers.has(owner) ? get(owner).extend?.() : get(owner).acquire(),
        ),
      )
      const winners = owners.filter((_, index) => results[index] === true)
      expect(winners).toHaveLength(Math.min(candidates.length, 1))
      expect(candidates).toEqual(expect.arrayContaining(winners))
      for (const owner of owners)
        if (winners.includes(owner)) {
          model.grant(owner)
          model.believers.add(owner)
        } else if (model.believers.has(owner)) await giveUp(model, get(owner), owner)
    },
  )
}

/** A process that has noticed that it lost the lease releases it, which must not end that of another one. */
async function giveUp(model: Model, lease: Lease, owner: string): Promise<void> {
  await lease.release()
  model.release(owner)
}

const createWrite = (owner: string): Command =>
  createCommand(
    `${owner} writes`,
    (model) => !model.crashed.has(owner) && model.believers.has(owner),
    async (model, { get }) => {
      const isHeld = model.holder === owner
      expect((await get(owner).write?.()) ?? isHeld).toBe(isHeld)
      if (!isHeld) await giveUp(model, get(owner), owner)
    },
  )

/** Also without a lease: the result of a process that has released or lost it is ignored. */
const createFinish = (owner: string): Command =>
  createCommand(
    `${owner} finishes`,
    (model) => !model.crashed.has(owner),
    async (model, { get }) => {
      expect(await get(owner).finish?.()).toBe(model.holder === owner)
      model.release(owner)
    },
  )

const createRelease = (owner: string): Command =>
  createCommand(
    `${owner} releases`,
    (model) => !model.crashed.has(owner),
    (model, { get }) => giveUp(model, get(owner), owner),
  )

const createCrash = (owner: string): Command =>
  createCommand(
    `${owner} crashes`,
    (model) => !model.crashed.has(owner),
    (model) => Promise.resolve(void model.crashed.add(owner)),
  )

/** Another process of this machine acquires the lease and is killed, which the others can see. */
const createKill = (): Command =>
  createCommand(
    'a process that is killed acquires',
    () => true,
    async (model, { get }) => {
      model.killedCount += 1
      const owner = `${model.killedCount} ${EXITED_PROCESS}`
      const { isFree } = model
      expect(await get(owner).acquire()).toBe(isFree)
      if (!isFree) return
      model.grant(owner)
      model.hasHolderExited = true
    },
  )

/** Time passes, or the clock is set, until the lease has this much time left. */
const createWait = (remainingMs: number): Command =>
  createCommand(
    `${remainingMs} ms of the lease remain`,
    (model) => model.holder !== null && model.canPass(model.untilMs - model.nowMs - remainingMs),
    (model, { database }) => passTime(model, database, model.untilMs - model.nowMs - remainingMs),
  )

const createJump = (byMs: number): Command =>
  createCommand(
    `the clock jumps by ${byMs} ms`,
    (model) => model.canPass(byMs),
    (model, { database }) => passTime(model, database, byMs),
  )

/** Where the leases have the clock of a server, that of a machine must not matter. */
const createMachineJump = (owner: string, aheadMs: number): Command =>
  createCommand(
    `the clock of ${owner} is ${aheadMs} ms ahead`,
    () => true,
    (_, { database }) => Promise.resolve(database.setMachineClock?.(owner, aheadMs)),
  )

async function passTime(model: Model, database: LeaseDatabase, byMs: number): Promise<void> {
  model.nowMs += byMs
  await database.passTime(byMs)
}

/** However the run went, the lease can be acquired in the end; the owners before have lost it, and a release ends it at once. */
async function checkEnd(model: Model, real: Real): Promise<void> {
  const { database, kind, get } = real
  const successor = get(SUCCESSOR)
  if (!model.isFree) await passTime(model, database, 2 * kind.forMs)
  expect(await successor.acquire()).toBe(true)
  model.grant(SUCCESSOR)
  for (const owner of model.believers) {
    const lease = get(owner)
    expect([await lease.write?.(), await lease.extend?.(), await lease.finish?.()]).not.toContain(true)
    await lease.release()
  }
  const other = get(OTHERS)
  expect(await other.acquire()).toBe(false)
  await successor.release()
  expect(await other.acquire()).toBe(true)
  await other.release()
}

const FAR_LEASES = 40

function listCommands(kind: LeaseKind, database: LeaseDatabase): fc.Arbitrary<Command>[] {
  const { forMs } = kind
  const isServer = database.setMachineClock !== undefined
  const owner = fc.constantFrom(...PROCESSES)
  const tries = owner.map((one) => createTry([one], kind))
  const race = fc
    .shuffledSubarray([...PROCESSES], { minLength: 2, maxLength: 2 })
    .map((owners) => createTry(owners, kind))
  const wait = fc.constantFrom(...database.listRemainingMs(forMs)).map(createWait)
  const farMs = FAR_LEASES * forMs
  const machineJump = fc
    .tuple(owner, fc.constantFrom(farMs, 0, -farMs))
    .map(([one, aheadMs]) => createMachineJump(one, aheadMs))
  return [
    tries,
    tries,
    ...(isServer || !kind.isTransaction ? [race, race] : []),
    owner.map(createWrite),
    ...(kind.canFinish ? [owner.map(createFinish)] : []),
    owner.map(createRelease),
    owner.map(createCrash),
    fc.constant(null).map(createKill),
    wait,
    wait,
    fc.constantFrom(farMs, -farMs).map(createJump),
    ...(isServer ? [machineJump] : []),
  ]
}

/**
 * Test a kind of lease with random sequences of competing processes, clock jumps and crashes. Each run has its own lease where
 * that is possible, and ends with a released one.
 */
async function checkLeases(database: LeaseDatabase, kind: LeaseKind): Promise<void> {
  const open = await kind.open(database, [...PROCESSES, SUCCESSOR, OTHERS])
  let runs = 0
  const property = fc.asyncProperty(
    fc.commands(listCommands(kind, database), { maxCommands: 20, size: 'max' }),
    async (commands) => {
      runs += 1
      const leases = new Map<string, Lease>()
      const get = (owner: string): Lease => {
        const lease = leases.get(owner) ?? open(owner, runs)
        leases.set(owner, lease)
        return lease
      }
      const model = new Model(kind)
      const real: Real = { database, kind, get }
      await fc.asyncModelRun(() => ({ model, real }), commands)
      await checkEnd(model, real)
    },
  )
  await fc.assert(property)
}

/** Test all leases. `start` opens an empty database. */
export function describeLeases(name: string, start: () => Promise<LeaseDatabase>): void {
  describe(`leases on ${name}`, () => {
    test.each(LEASE_KINDS.map((kind) => [kind.name, kind] as const))(
      '%s, random commands - has one owner at a time, is free at last, and is of no use once it is lost',
      async (_, kind) => {
        const database = await start()
        await expect(checkLeases(database, kind)).resolves.toBeUndefined()
      },
    )
  })
}
