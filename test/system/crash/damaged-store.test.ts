import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import request from 'supertest'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { openSqlite } from '../../../src/database/sqlite.ts'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { runBuilt, runInProcess } from '../../cli/run-cli.ts'
import { createConcurrentParts } from '../../helpers/lazy.ts'
import { CORRUPT_INDEX_SQL, runUnsafeStatement } from '../../storage/corrupt-database.ts'
import {
  type CrashFixture,
  makeCrashFixture,
  makeWalkedFixture,
  openCopy,
  setPrices,
  toBox,
  toGrid,
  visit,
} from './crash-fixture.ts'

const OLD = '49.90'
const NEW = '39.90'
const SHOWN_OLD = { state: 'shown', prices: [OLD] }
const SHOWN_NEW = { state: 'shown', prices: [NEW] }
const PAGE_BYTES = 4_096
const PRODUCTS = 400

/** A running server, and what it logged. */
type Server = Readonly<{
  url: string
  addresses: Readonly<{ box: string | null; grid: string | null }>
  readFailures(): readonly string[]
  /** Stop the server and return its exit code; a stop that takes more than 9.5 s is forced, with a code other than 0. */
  stop(): Promise<number | null>
}>

/** Start the real program and wait until it is ready. `maxBlocks`: maximum size of a file in KiB. */
async function serve(settings: Environment, maxBlocks?: number): Promise<Server> {
  const main = join(PACKAGE_FOLDER, 'dist/main.js')
  const limit = maxBlocks === undefined ? '' : `trap '' XFSZ; ulimit -f ${maxBlocks}; `
  const allSettings = { ...settings, VITRINE_ADMIN_PASSWORD: 'p' }
  const env = Object.fromEntries(Object.entries(allSettings).filter(([, text]) => text !== undefined))
  const args = ['-c', `${limit}exec "$@"`, 'bash', process.execPath, main, 'serve', '--json']
  const child = spawn('bash', args, { env })
  onTestFinished(() => void child.kill('SIGKILL'))
  let err = ''
  child.stderr.on('data', (chunk) => (err += String(chunk)))
  // `close`, not `exit`: then all output has arrived.
  const ended = once(child, 'close') as Promise<[number | null]>
  const line = once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text))
  const text = await Promise.race([
    line,
    ended.then(() => Promise.reject(new Error(`the server ended: ${err}`))),
  ])
  const addresses = JSON.parse(text) as Server['addresses'] & { publicUrl: string }
  return {
    url: addresses.publicUrl,
    addresses,
    // Complete lines only: the last one may be partial.
    readFailures: () => err.split('\n').slice(0, -1).filter(isFailure),
    async stop() {
      child.kill('SIGTERM')
      const [code] = await ended
      return code
    },
  }
}

function isFailure(line: string): boolean {
  return line.includes('"msg":"stored copy failed')
}

/** Overwrite the pages of a file between two fractions of its length; the first page always stays. */
function overwrite(path: string, from: number, to: number): void {
  const pages = Math.floor(statSync(path).size / PAGE_BYTES)
  const [first, last] = [Math.max(1, Math.floor(from * pages)), Math.floor(to * pages)]
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc((last - first) * PAGE_BYTES, 0x5a), 0, null, first * PAGE_BYTES)
  closeSync(file)
}

/** Expect a server without a stored copy: boxes from the catalog, no grids, the failure in /readyz and in the log. */
async function expectServedWithoutCopy(fixture: CrashFixture, server: Server): Promise<void> {
  const before = fixture.catalog.countCalls(/products\/\d/)
  for (let round = 0; round < 3; round++)
    for (const index of [0, 1, 2]) expect(await visit(server.url, toBox(index))).toEqual(SHOWN_NEW)
  expect(fixture.catalog.countCalls(/products\/\d/) - before).toBeLessThanOrEqual(3)
  for (let round = 0; round < 5; round++) {
    const { status, text, headers } = await request(server.url).get(toGrid())
    expect([status, text, headers['vitrine-state']]).toEqual([200, '', 'unavailable'])
  }
  expect((await request(server.url).get('/healthz')).status).toBe(200)
  const { status, body } = await request(server.url).get('/readyz').auth('admin', 'p')
  expect(status).toBe(503)
  expect(body).toMatchObject({
    reason: 'the stored copy cannot be read',
    detail: { store: { isUp: false, lastFailure: { at: expect.any(String), reason: expect.any(String) } } },
  })
  // The log line may arrive later than the response.
  await vi.waitFor(() => expect(server.readFailures()).toHaveLength(1))
  const [failure = ''] = server.readFailures()
  expect(JSON.parse(failure)).toMatchObject({ level: 50, err: { message: expect.any(String) } })
}

type Finding = Readonly<{ subject: string; isGood: boolean; remedy: string | null }>

async function runFailingCheck(
  settings: Environment,
): Promise<Readonly<{ code: number | null; badFindings: Finding[] }>> {
  const { code, out } = await runInProcess(['check', '--json'], settings)
  return { code, badFindings: (JSON.parse(out) as Finding[]).filter(({ isGood }) => !isGood) }
}

async function expectCheckFails(settings: Environment): Promise<void> {
  const { code, badFindings } = await runFailingCheck(settings)
  // A damaged page may also have what is counted for the channel.
  const subjects = badFindings
    .map(({ subject }) => subject)
    .filter((subject) => !subject.startsWith('channel '))
  expect([code, subjects]).toEqual([1, ['stored copy']])
  expect(badFindings[0]?.remedy).toContain('VITRINE_DATABASE_URL')
}

/** Ways to make the stored copy impossible to open; each returns the path for the server's settings. */
const UNOPENABLE: Readonly<Record<string, (fixture: CrashFixture) => string>> = {
  'file of garbage'({ path }) {
    writeFileSync(path, 'no database '.repeat(5_000))
    return path
  },
  folder({ path }) {
    mkdirSync(path)
    return path
  },
  'path that cannot be created': () => '/proc/nothing/x.db',
  'path below a file'({ folder }) {
    writeFileSync(join(folder, 'file'), '')
    return join(folder, 'file/x.db')
  },
}

async function testUnopenable(fixture: CrashFixture, path: string): Promise<void> {
  const settings = { ...fixture.settings, VITRINE_DATABASE_URL: `sqlite:${path}` }
  const server = await serve(settings)
  await expectServedWithoutCopy(fixture, server)
  await expectCheckFails(settings)
  expect(await server.stop()).toBe(0)
}

async function testFullDisk(): Promise<void> {
  const fixture = await makeCrashFixture(3, NEW)
  const server = await serve(fixture.settings, 16)
  await expectServedWithoutCopy(fixture, server)
  expect(await server.stop()).toBe(0)
}

async function testOverwritten(): Promise<void> {
  const fixture = await makeWalkedFixture(PRODUCTS, OLD)
  setPrices(fixture, PRODUCTS, NEW)
  overwrite(fixture.path, 0, 1)
  await testUnopenable(fixture, fixture.path)
}

/** Run all cases concurrently, because most of the time is starting and stopping programs. */
const cases = createConcurrentParts({
  ...Object.fromEntries(
    Object.entries(UNOPENABLE).map(([name, breakCopy]) => [
      name,
      async () => {
        const fixture = await makeCrashFixture(3, NEW)
        await testUnopenable(fixture, breakCopy(fixture))
      },
    ]),
  ),
  overwritten: testOverwritten,
  'full disk': testFullDisk,
})

describe('serve with a stored copy that cannot be opened', () => {
  test.each(Object.keys(UNOPENABLE))(
    '%s - boxes come from the catalog, no grids, not ready, one log line, check exits with 1',
    async (name) => {
      await expect(cases(name)).resolves.toBeUndefined()
    },
  )

  test('walked copy, every page but the first overwritten - the server behaves the same', async () => {
    await expect(cases('overwritten')).resolves.toBeUndefined()
  })

  test('disk full from the start - the server behaves the same', async () => {
    await expect(cases('full disk')).resolves.toBeUndefined()
  })
})

/** The part of the pages that is overwritten, in fractions of the file. */
const PARTS: Readonly<Record<string, readonly [from: number, to: number]>> = {
  'middle third': [1 / 3, 2 / 3],
  'second half': [1 / 2, 1],
}

async function testPart(from: number, to: number): Promise<void> {
  const fixture = await makeWalkedFixture(PRODUCTS, OLD)
  setPrices(fixture, PRODUCTS, NEW)
  overwrite(fixture.path, from, to)
  const server = await serve(fixture.settings)
  for (let index = 0; index < PRODUCTS; index += 20)
    expect([SHOWN_OLD, SHOWN_NEW]).toContainEqual(await visit(server.url, toBox(index)))
  expect(['shown', 'unavailable']).toContain((await visit(server.url, toGrid())).state)
  expect((await request(server.url).get('/healthz')).status).toBe(200)
  // The server is ready while it can read the list of copies; a damaged page loses only its contents.
  expect([200, 503]).toContain((await request(server.url).get('/readyz')).status)
  await expectCheckFails(fixture.settings)
  expect(await server.stop()).toBe(0)
  expect(server.readFailures()).toHaveLength(1)
}

const damagedParts = createConcurrentParts(
  Object.fromEntries(Object.entries(PARTS).map(([name, part]) => [name, () => testPart(...part)])),
)

describe('serve with a partly damaged stored copy, or a full disk', () => {
  test.each(Object.keys(PARTS))(
    '%s of its pages overwritten - boxes come from the copy or the catalog, and visitors see no error',
    async (name) => {
      await expect(damagedParts(name)).resolves.toBeUndefined()
    },
  )

  test('empty file - a new copy is created in it', async () => {
    const fixture = await makeCrashFixture(3, NEW)
    writeFileSync(fixture.path, '')
    const server = await serve(fixture.settings)
    expect(server.addresses.grid).not.toBeNull()
    expect(await visit(server.url, toGrid())).toEqual(SHOWN_NEW)
    expect((await request(server.url).get('/readyz')).status).toBe(200)
    expect(await runFailingCheck(fixture.settings)).toEqual({ code: 0, badFindings: [] })
    expect(await server.stop()).toBe(0)
    expect(server.readFailures()).toEqual([])
  })

  test('disk that fills up during the first walk - boxes are shown, grids are unavailable', async () => {
    const fixture = await makeCrashFixture(PRODUCTS, NEW)
    const server = await serve(fixture.settings, 400)
    for (const index of [0, 200, PRODUCTS - 1])
      expect(await visit(server.url, toBox(index))).toEqual(SHOWN_NEW)
    expect(await visit(server.url, toGrid())).toEqual({ state: 'unavailable', prices: [] })
    expect((await request(server.url).get('/healthz')).status).toBe(200)
    expect(await server.stop()).toBe(0)
    const store = await openCopy(fixture)
    expect(await store.getCopyState((await store.findChannelList())?.channels[0]?.id ?? '')).toMatchObject({
      currentWalk: 0,
    })
  })

  test('full disk with a valid copy - boxes come from the copy, or from the catalog if the copy cannot be opened', async () => {
    const fixture = await makeWalkedFixture(PRODUCTS, OLD)
    setPrices(fixture, PRODUCTS, NEW)
    const server = await serve(fixture.settings, 16)
    for (const index of [0, 200, PRODUCTS - 1])
      expect([SHOWN_OLD, SHOWN_NEW]).toContainEqual(await visit(server.url, toBox(index)))
    expect(['shown', 'unavailable']).toContain((await visit(server.url, toGrid())).state)
    expect((await request(server.url).get('/healthz')).status).toBe(200)
    expect(await server.stop()).toBe(0)
  })
})

describe('copy with a damaged full-text index', () => {
  test('serve - the first walk repairs the copy without a reported failure, and check succeeds again', async () => {
    const fixture = await makeCrashFixture(PRODUCTS, NEW)
    await (await openCopy(fixture)).close()
    runUnsafeStatement(fixture.path, CORRUPT_INDEX_SQL)
    expect((await runFailingCheck(fixture.settings)).badFindings).toMatchObject([{ subject: 'stored copy' }])
    const server = await serve(fixture.settings)
    expect(await visit(server.url, toGrid())).toEqual(SHOWN_NEW)
    expect(await visit(server.url, toBox(PRODUCTS - 1))).toEqual(SHOWN_NEW)
    expect((await request(server.url).get('/readyz')).status).toBe(200)
    expect(await server.stop()).toBe(0)
    expect(server.readFailures()).toEqual([])
    expect(await runFailingCheck(fixture.settings)).toEqual({ code: 0, badFindings: [] })
  })

  test('sync - walks the whole catalog', async () => {
    const fixture = await makeWalkedFixture(PRODUCTS, OLD)
    runUnsafeStatement(fixture.path, CORRUPT_INDEX_SQL)
    setPrices(fixture, PRODUCTS, NEW)
    const { code, err } = await runBuilt(['sync'], fixture.settings)
    expect([code, err]).toEqual([0, expect.not.stringContaining('failed')])
    const server = await serve(fixture.settings)
    expect(await visit(server.url, toGrid())).toEqual(SHOWN_NEW)
    expect(await server.stop()).toBe(0)
    expect(await runFailingCheck(fixture.settings)).toEqual({ code: 0, badFindings: [] })
  })
})

test.each(
  ['serve', 'sync', 'check'].flatMap((command) => [
    [command, 'a newer version', 'copy-9999-newer', 'VITRINE_STORE_NEWER'],
    [command, 'a build before 1.0.0', '0001-first', 'VITRINE_STORE_OLDER'],
  ]),
)(
  '%s, copy of %s - exits with 1, reports the version, changes nothing',
  async (command, _name, migration, errorCode) => {
    const fixture = await makeWalkedFixture(PRODUCTS, OLD)
    const database = openSqlite({ path: fixture.path, role: 'writer' })
    database.prepare('insert into kysely_migration (name, timestamp) values (?, ?)').run([migration, 'x'])
    database.close()
    const before = readFileSync(fixture.path)
    const { code, out, err } = await (command === 'serve' ? runBuilt : runInProcess)(
      [command],
      fixture.settings,
    )
    expect([code, (command === 'check' ? out : err).includes(errorCode)]).toEqual([1, true])
    expect(readFileSync(fixture.path).equals(before)).toBe(true)
  },
)
