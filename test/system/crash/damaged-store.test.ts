import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import request from 'supertest'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Environment } from '../../../src/config/config.ts'
import { openSqlite } from '../../../src/database/sqlite.ts'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'
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

/** A running server, and its standard error. */
type Server = Readonly<{
  url: string
  addresses: Readonly<{ box: string | null; grid: string | null }>
  readFailures(): readonly string[]
  /** Stop and return the exit code. A server that needs more than 9.5 s is killed, with another code than 0. */
  stop(): Promise<number | null>
}>

/** Start the real program and wait until it is ready. `maxBlocks`: file size limit in KiB. */
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
  // The message contains its whole output.
  const ended = once(child, 'close') as Promise<[number | null]>
  const line = once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text))
  const text = await Promise.race([line, ended.then(() => Promise.reject(new Error(`it ended: ${err}`)))])
  const addresses = JSON.parse(text) as Server['addresses'] & { publicUrl: string }
  return {
    url: addresses.publicUrl,
    addresses,
    // Complete lines: the last one may be partial.
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

/** Overwrite pages of a file; the range is given as shares of the file. */
function overwrite(path: string, from: number, to: number): void {
  const pages = Math.floor(statSync(path).size / PAGE_BYTES)
  const [first, last] = [Math.max(1, Math.floor(from * pages)), Math.floor(to * pages)]
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc((last - first) * PAGE_BYTES, 0x5a), 0, null, first * PAGE_BYTES)
  closeSync(file)
}

/** Expect a server without a stored copy: boxes from the catalog, no grids, and the failure in log, readiness and metrics. */
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
  // Log lines arrive independently of the response.
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
  expect([code, badFindings.map(({ subject }) => subject)]).toEqual([1, ['stored copy']])
  expect(badFindings[0]?.remedy).toContain('VITRINE_DATABASE_URL')
}

/** Obstacles at or above the path of the stored copy, each with the configured path. */
const UNOPENED: Readonly<Record<string, (fixture: CrashFixture) => string>> = {
  'file of garbage'({ path }) {
    writeFileSync(path, 'no database '.repeat(5_000))
    return path
  },
  folder({ path }) {
    mkdirSync(path)
    return path
  },
  'path that cannot be made': () => '/proc/nothing/x.db',
  'path below a file'({ folder }) {
    writeFileSync(join(folder, 'file'), '')
    return join(folder, 'file/x.db')
  },
}

async function tryUnopened(fixture: CrashFixture, path: string): Promise<void> {
  const settings = { ...fixture.settings, VITRINE_DATABASE_URL: `sqlite:${path}` }
  const server = await serve(settings)
  await expectServedWithoutCopy(fixture, server)
  await expectCheckFails(settings)
  expect(await server.stop()).toBe(0)
}

async function tryFullDisk(): Promise<void> {
  const fixture = await makeCrashFixture(3, NEW)
  const server = await serve(fixture.settings, 16)
  await expectServedWithoutCopy(fixture, server)
  expect(await server.stop()).toBe(0)
}

async function tryOverwritten(): Promise<void> {
  const fixture = await makeWalkedFixture(PRODUCTS, OLD)
  setPrices(fixture, PRODUCTS, NEW)
  overwrite(fixture.path, 0, 1)
  await tryUnopened(fixture, fixture.path)
}

/** All cases at once, because programs mostly wait while they start and stop. */
const tries = createConcurrentParts({
  ...Object.fromEntries(
    Object.entries(UNOPENED).map(([name, spoil]) => [
      name,
      async () => {
        const fixture = await makeCrashFixture(3, NEW)
        await tryUnopened(fixture, spoil(fixture))
      },
    ]),
  ),
  overwritten: tryOverwritten,
  'full disk': tryFullDisk,
})

describe('serve without a stored copy that can be opened', () => {
  test.each(Object.keys(UNOPENED))(
    '%s - boxes from the catalog, no grids, not ready, one line, check says 1',
    async (name) => {
      await expect(tries(name)).resolves.toBeUndefined()
    },
  )

  test('walked copy, all pages but the first overwritten - the same', async () => {
    await expect(tries('overwritten')).resolves.toBeUndefined()
  })

  test('disk full from the start - the same, except for the check, which has space', async () => {
    await expect(tries('full disk')).resolves.toBeUndefined()
  })
})

/** Overwritten pages, as shares of the file. */
const PARTS: Readonly<Record<string, readonly [from: number, to: number]>> = {
  'middle third': [1 / 3, 2 / 3],
  'second half': [1 / 2, 1],
}

async function tryPart(from: number, to: number): Promise<void> {
  const fixture = await makeWalkedFixture(PRODUCTS, OLD)
  setPrices(fixture, PRODUCTS, NEW)
  overwrite(fixture.path, from, to)
  const server = await serve(fixture.settings)
  for (let index = 0; index < PRODUCTS; index += 20)
    expect([SHOWN_OLD, SHOWN_NEW]).toContainEqual(await visit(server.url, toBox(index)))
  expect(['shown', 'unavailable']).toContain((await visit(server.url, toGrid())).state)
  expect((await request(server.url).get('/healthz')).status).toBe(200)
  // Ready while the list of copies can be read; damaged pages lose only their own content.
  expect([200, 503]).toContain((await request(server.url).get('/readyz')).status)
  await expectCheckFails(fixture.settings)
  expect(await server.stop()).toBe(0)
  expect(server.readFailures()).toHaveLength(1)
}

const triedParts = createConcurrentParts(
  Object.fromEntries(Object.entries(PARTS).map(([name, part]) => [name, () => tryPart(...part)])),
)

describe('serve with a partially damaged stored copy', () => {
  test.each(Object.keys(PARTS))(
    '%s of its pages overwritten - boxes from copy or catalog, no error for a visitor',
    async (name) => {
      await expect(triedParts(name)).resolves.toBeUndefined()
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

  test('disk that fills up during the first walk - boxes are shown, grids are not', async () => {
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

  test('full disk, intact copy - boxes from the copy, or from the catalog when it cannot be opened', async () => {
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

describe('copy with a damaged search index', () => {
  test('serve - its first walk repairs the copy without a report; check exits with 1 before and 0 afterwards', async () => {
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

test.each(['serve', 'sync', 'check'])(
  '%s, copy of a newer version - 1 with the reason, changes nothing',
  async (word) => {
    const fixture = await makeWalkedFixture(PRODUCTS, OLD)
    const database = openSqlite({ path: fixture.path, role: 'writer' })
    database.prepare('insert into kysely_migration (name, timestamp) values (?, ?)').run(['9999-newer', 'x'])
    database.close()
    const before = readFileSync(fixture.path)
    const { code, out, err } = await (word === 'serve' ? runBuilt : runInProcess)([word], fixture.settings)
    expect([code, (word === 'check' ? out : err).includes('VITRINE_STORE_NEWER')]).toEqual([1, true])
    expect(readFileSync(fixture.path).equals(before)).toBe(true)
  },
)
