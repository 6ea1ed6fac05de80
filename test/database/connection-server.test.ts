import { expect, onTestFinished, test, vi } from 'vitest'
import { SECOND_MS, systemClock } from '../../src/clock.ts'
import { type Connection, type ServiceOptions, openConnection } from '../../src/database/connection.ts'
import type { OpenDatabase } from '../../src/database/open-database.ts'
import type { CopyTables } from '../../src/storage/schema.ts'
import { defer } from '../helpers/defer.ts'
import { createFakeServer } from './fake-server.ts'

const fail = (code: string): Promise<never> => Promise.reject(Object.assign(new Error('rejected'), { code }))

type Fake = Partial<ServiceOptions> &
  Readonly<{
    open?: () => Promise<OpenDatabase<CopyTables>>
    respond?: (text: string) => Promise<unknown>
  }>

/** Open a service's connection to a server. `events`: what it reports. */
async function openService({ open, respond = () => Promise.resolve(), ...service }: Fake = {}) {
  const events: string[] = []
  const connection: Connection<CopyTables> = await openConnection<CopyTables, OpenDatabase<CopyTables>>({
    open: open ?? (() => Promise.resolve(createFakeServer(respond))),
    kind: 'server',
    table: 'copies',
    failure: 'the stored copy failed',
    service: {
      maxSilenceMs: 800,
      lockedMs: 0,
      reopenMs: 0,
      onFailure: () => events.push('unavailable'),
      onRecovered: () => events.push('recovered'),
      onReadOnly: () => events.push('read-only'),
      onWritable: () => events.push('writable'),
      ...service,
    },
  })
  onTestFinished(() => connection.close())
  return { connection, events }
}

const value = (): Promise<string> => Promise.resolve('value')

test('read-only server without a free connection to check writes - reads continue, and writes wait', async () => {
  const checks: string[] = []
  // A failover: no free connection, a timeout, a read-only server, a lost connection. Then the server accepts writes.
  const states = ['53300', '57014', '25006', '08006']
  const { connection, events } = await openService({
    respond(text) {
      if (!text.includes('for update')) return Promise.resolve()
      const state = states[checks.length] ?? 'writable'
      checks.push(state)
      return state === 'writable' ? Promise.resolve() : fail(state)
    },
  })
  await expect(connection.write(() => fail('25006'))).rejects.toMatchObject({
    code: 'VITRINE_STORE_FAILED',
    message: 'the stored copy failed: rejected',
  })
  await vi.waitFor(
    async () => {
      expect(await connection.readShort(value)).toBe('value')
      expect(checks.at(-1)).toBe('writable')
      expect(events).toEqual(['read-only', 'writable'])
    },
    { timeout: 30 * SECOND_MS, interval: 50 },
  )
  expect(checks).toEqual([...states, 'writable'])
})

test('read-only server - a write fails at once, without a statement', async () => {
  const { connection } = await openService({
    respond: (text) => (text.includes('for update') ? fail('25006') : value()),
  })
  await expect(connection.write(() => fail('25006'))).rejects.toThrow('rejected')
  const write = vi.fn<() => Promise<string>>(value)
  await expect(connection.write(write)).rejects.toThrow('the database was read-only a moment ago')
  expect(write).not.toHaveBeenCalled()
})

test.each([
  ['57014', 'a lock that is not released in time'],
  ['53100', 'a full disk'],
  ['22021', 'a value that the server rejects'],
])('write that fails by %s, %s - reads continue', async (code) => {
  const { connection, events } = await openService()
  await expect(connection.write(() => fail(code))).rejects.toThrow('rejected')
  expect(await connection.readShort(value)).toBe('value')
  expect(events).toEqual([])
})

test.each(['08006', '28P01', '3D000', '53300', '57P01', '58030'])(
  'read that fails by %s - the database counts as unavailable, until a probe succeeds',
  async (code) => {
    let isBack = false
    const { connection, events } = await openService({ respond: () => (isBack ? value() : fail(code)) })
    await expect(connection.read(() => fail(code))).rejects.toThrow('rejected')
    await expect(connection.read(value)).rejects.toMatchObject({
      message: 'the database could not be reached a moment ago',
      isUnreachable: true,
    })
    isBack = true
    await vi.waitFor(async () => expect(await connection.read(value)).toBe('value'), {
      timeout: 30 * SECOND_MS,
    })
    expect(events).toEqual(['unavailable', 'recovered'])
  },
)

test('one lost connection - the next reads succeed within the time of a probe, which is at once', async () => {
  const { connection, events } = await openService()
  const wait = vi.spyOn(systemClock, 'wait')
  onTestFinished(() => wait.mockRestore())
  await expect(connection.read(() => fail('08006'))).rejects.toThrow('rejected')
  await vi.waitFor(() => expect(events).toEqual(['unavailable', 'recovered']), { timeout: 30 * SECOND_MS })
  expect(await connection.read(value)).toBe('value')
  expect(wait.mock.calls.map(([delayMs]) => delayMs)).toEqual([0])
})

test('server that responds to probes only - fails at most once in the interval of probes', async () => {
  const { connection, events } = await openService()
  await expect(connection.read(() => fail('53300'))).rejects.toThrow('rejected')
  await vi.waitFor(() => expect(events).toEqual(['unavailable', 'recovered']), { timeout: 30 * SECOND_MS })
  const wait = vi.spyOn(systemClock, 'wait')
  onTestFinished(() => wait.mockRestore())
  await expect(connection.read(() => fail('53300'))).rejects.toThrow('rejected')
  await expect(connection.read(value)).rejects.toThrow('a moment ago')
  expect(wait.mock.calls[0]?.[0]).toBe(SECOND_MS)
})

test('mistake of the program - is no failure of the database, whatever its message says', async () => {
  const { connection, events } = await openService()
  const mistake = new TypeError('connection timeout of undefined')
  await expect(connection.read(() => Promise.reject(mistake))).rejects.toMatchObject({
    code: 'VITRINE_STORE_FAILED',
  })
  expect(await connection.read(value)).toBe('value')
  expect(events).toEqual([])
})

test('slow short read - the database counts as unavailable; another slow read fails only itself', async () => {
  const { connection, events } = await openService()
  await expect(connection.read(() => fail('57014'))).rejects.toThrow('rejected')
  expect(events).toEqual([])
  await expect(connection.readShort(() => fail('57014'))).rejects.toThrow('rejected')
  expect(events[0]).toBe('unavailable')
})

const readSlowly = async (): Promise<string> => {
  await systemClock.wait(800)
  return 'deals'
}

test('grid that takes longer than other reads, long visitor timeout - succeeds', async () => {
  const { connection } = await openService({ maxSilenceMs: 5_000 })
  expect(await connection.readForVisitor(readSlowly)).toBe('deals')
})

test('grid without a response - also fails within the visitor timeout', async () => {
  const { connection } = await openService({ maxSilenceMs: 70 })
  await expect(connection.readForVisitor(() => new Promise(() => {}))).rejects.toThrow(
    'did not respond for 70 ms',
  )
})

test('server that falls silent after a response to another read - the read fails within the visitor timeout', async () => {
  const { connection } = await openService({ maxSilenceMs: 150 })
  const silent = connection.readForVisitor(() => new Promise(() => {}))
  silent.catch(() => {})
  await connection.readShort(value)
  await expect(silent).rejects.toThrow('did not respond for 150 ms')
})

test('read without a response - fails before the visitor timeout; its later error marks the database as unavailable', async () => {
  const ending = defer<never>()
  const { connection, events } = await openService({ maxSilenceMs: 70 })
  await expect(connection.readShort(() => ending.promise)).rejects.toThrow('did not respond for 70 ms')
  expect(events).toEqual([])
  ending.reject(new Error('Connection terminated'))
  await vi.waitFor(() => expect(events[0]).toBe('unavailable'))
})

test('server that cannot be opened - is opened by a probe; one that must be opened - an error', async () => {
  let isBack = false
  const open = (): Promise<OpenDatabase<CopyTables>> =>
    isBack ? Promise.resolve(createFakeServer(value)) : fail('08006')
  await expect(openService({ open, mustOpen: true })).rejects.toThrow('rejected')
  const { connection, events } = await openService({ open })
  expect(connection.problem).toMatchObject({ code: 'VITRINE_STORE_FAILED' })
  isBack = true
  await vi.waitFor(() => expect(events).toEqual(['unavailable', 'recovered']), { timeout: 30 * SECOND_MS })
  expect(connection.problem).toBeUndefined()
})
