import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSqlite } from '../../../src/database/sqlite.ts'
import {
  type CommandResult,
  makeFolder,
  makeSettings,
  runBuilt,
  runInProcess,
  startBuilt,
} from '../../cli/run-cli.ts'

type Copied = { database: string; source: string; file: string; bytes: number }
type Backup = { files: Copied[]; leftOut: { database: string; reason: string }[] }

/** Read the rows of a copy, opened as the server opens it. */
function query(path: string, statement: string): unknown[] {
  const database = openSqlite({ path, role: 'writer' })
  try {
    return [...database.prepare(statement).all([])]
  } finally {
    database.close()
  }
}

const isWhole = (path: string): boolean =>
  JSON.stringify(query(path, 'pragma integrity_check')) === '[{"integrity_check":"ok"}]'

const SQLITE = new URL('../../../dist/database/sqlite.js', import.meta.url).href

/** A thread that adds two rows per transaction: a copy of half a transaction would have an odd number. */
const WRITER = `
  const { parentPort, workerData } = require('node:worker_threads')
  import(${JSON.stringify(SQLITE)}).then(({ openSqlite }) => {
    const database = openSqlite({ path: workerData, role: 'writer' })
    const run = (statement) => database.prepare(statement).run([])
    run('create table pairs (id integer primary key, filler blob)')
    let isStopping = false
    parentPort.on('message', () => { isStopping = true })
    const write = () => {
      run('begin')
      run('insert into pairs (filler) values (randomblob(2000))')
      run('insert into pairs (filler) values (randomblob(2000))')
      run('commit')
      parentPort.postMessage('wrote')
      if (!isStopping) return setImmediate(write)
      database.close()
      parentPort.close()
    }
    write()
  })`

describe('backup', () => {
  it('running server - three complete copies, from which another server shows the same box', async () => {
    const folder = makeFolder()
    const settings = makeSettings(folder)
    const running = startBuilt(['serve', '--json'], settings)
    const { box } = JSON.parse(await running.firstLine) as { box: string }
    const target = join(folder, 'backup')
    mkdirSync(target)
    const { code, out, err } = await runBuilt(['backup', join(target, 'monday.db')], settings)
    expect([code, err]).toEqual([0, ''])
    const names = ['monday.db', 'monday-catalog.db', 'monday-catalog-usage.db']
    expect(out.trim().split('\n')).toEqual(
      names.map((name) => expect.stringMatching(new RegExp(`/${name}: [a-z ]+, \\d+\\.\\d MB, copy of /`))),
    )
    expect(readdirSync(target).toSorted()).toEqual(names.toSorted())
    for (const name of names) expect(isWhole(join(target, name))).toBe(true)
    await running.stop('SIGTERM')
    const count = 'select count(*) as n from products'
    expect(query(join(target, 'monday.db'), count)).toEqual(query(join(folder, 'copy.db'), count))
    const restored = startBuilt(['serve', '--json'], {
      ...settings,
      VITRINE_DATABASE_URL: `sqlite:${target}/monday.db`,
      VITRINE_CATALOG_DATABASE_URL: `sqlite:${target}/monday-catalog.db`,
    })
    const after = JSON.parse(await restored.firstLine) as { box: string }
    expect(new URL(after.box).pathname).toBe(new URL(box).pathname)
    await restored.stop('SIGTERM')
  })

  it('continuous writes - a snapshot without half a transaction', async () => {
    const folder = makeFolder()
    const path = join(folder, 'copy.db')
    const writer = new Worker(WRITER, { eval: true, workerData: path })
    onTestFinished(async () => void (await writer.terminate()))
    await once(writer, 'message')
    let isBusy = false
    writer.on('message', () => (isBusy = true))
    for (const name of ['a.db', 'b.db', 'c.db']) {
      isBusy = false
      expect(await runBuilt(['backup', join(folder, name)], makeSettings(folder))).toMatchObject({ code: 0 })
      expect(isBusy).toBe(true)
    }
    writer.postMessage('stop')
    await once(writer, 'exit')
    const counts = ['a.db', 'b.db', 'c.db', 'copy.db'].map((name) => {
      expect(isWhole(join(folder, name))).toBe(true)
      const [row] = query(join(folder, name), 'select count(*) as n from pairs') as { n: number }[]
      return row?.n ?? 0
    })
    expect(counts.every((count) => count > 0 && count % 2 === 0)).toBe(true)
    expect(counts).toEqual(counts.toSorted((one, other) => one - other))
  })

  it('--json - each file with its kind, source and size', async () => {
    const folder = makeFolder()
    openSqlite({ path: join(folder, 'copy.db'), role: 'writer' }).close()
    const file = join(folder, 'saved')
    const { code, out } = await runInProcess(['backup', file, '--json'], makeSettings(folder))
    expect(code).toBe(0)
    expect(JSON.parse(out) as Backup).toEqual({
      files: [
        { database: 'stored copy', source: join(folder, 'copy.db'), file, bytes: readFileSync(file).length },
      ],
      leftOut: [{ database: 'catalog', reason: `There is no catalog at ${folder}/catalog.db yet.` }],
    })
  })
})

const backUp = (folder: string, file: string): Promise<CommandResult> =>
  runInProcess(['backup', file], makeSettings(folder))

/** List the files of a folder without SQLite's -wal and -shm files. */
const listFiles = (folder: string): string[] =>
  readdirSync(folder).filter((name) => !/-(?:wal|shm)$/.test(name))

describe('failing backup', () => {
  it.each(['saved.db', 'saved-catalog.db', 'saved-catalog-usage.db'])(
    '%s exists already - 1, and nothing is changed or written',
    async (name) => {
      const folder = makeFolder()
      for (const made of ['copy.db', 'catalog.db', 'catalog-usage.db'])
        openSqlite({ path: join(folder, made), role: 'writer' }).close()
      writeFileSync(join(folder, name), 'mine')
      const before = listFiles(folder)
      const { code, out, err } = await backUp(folder, join(folder, 'saved.db'))
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(/^vitrine: ".*" exists already; .* \(VITRINE_BACKUP_FAILED\)\n$/)
      expect(err).toContain(join(folder, name))
      expect([listFiles(folder), readFileSync(join(folder, name), 'utf8')]).toEqual([before, 'mine'])
    },
  )

  it('invalid database file - 1, and no file is left, also not of the earlier ones', async () => {
    const folder = makeFolder()
    openSqlite({ path: join(folder, 'copy.db'), role: 'writer' }).close()
    writeFileSync(join(folder, 'catalog.db'), 'this is certainly no database. '.repeat(100))
    const before = listFiles(folder)
    const { code, err } = await backUp(folder, join(folder, 'saved.db'))
    expect(code).toBe(1)
    expect(err).toContain(`"${folder}/catalog.db": the file is not a database`)
    expect(listFiles(folder)).toEqual(before)
  })

  it('no database - 1, and none is created', async () => {
    const folder = makeFolder()
    const { code, err } = await backUp(folder, join(folder, 'saved.db'))
    expect(code).toBe(1)
    expect(err).toContain('there is no database to back up')
    expect(readdirSync(folder)).toEqual([])
  })

  it('folder is missing or a file - 1, with the path', async () => {
    const folder = makeFolder()
    openSqlite({ path: join(folder, 'copy.db'), role: 'writer' }).close()
    const missing = await backUp(folder, join(folder, 'missing/saved.db'))
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining(`"${folder}/missing"`)])
    const below = await backUp(folder, join(folder, 'copy.db/saved.db'))
    expect([below.code, below.err]).toEqual([1, expect.stringContaining('copy.db" is not a folder')])
  })

  it('databases on PostgreSQL - skipped, with pg_dump as the remedy', async () => {
    const folder = makeFolder()
    openSqlite({ path: join(folder, 'catalog.db'), role: 'writer' }).close()
    const server = 'postgres://user:word@127.0.0.1:9/database'
    const settings = makeSettings(folder, { VITRINE_DATABASE_URL: server })
    const { code, err } = await runInProcess(['backup', join(folder, 'saved.db')], settings)
    expect([code, err]).toEqual([0, 'The stored copy is on PostgreSQL: back it up with pg_dump.\n'])
    expect(existsSync(join(folder, 'saved-catalog.db'))).toBe(true)
    const both = { ...settings, VITRINE_CATALOG_DATABASE_URL: server }
    const none = await runInProcess(['backup', join(folder, 'other.db')], both)
    expect(none.code).toBe(1)
    expect(none.err.match(/pg_dump/g)).toHaveLength(2)
  })

  it('killed during the copy - no file has its final name', async () => {
    const folder = makeFolder()
    const database = openSqlite({ path: join(folder, 'copy.db'), role: 'writer' })
    database.prepare('create table filler (bytes blob)').run([])
    database
      .prepare(
        'with recursive n(i) as (select 1 union all select i + 1 from n where i < 40000) insert into filler select randomblob(2000) from n',
      )
      .run([])
    database.close()
    const main = new URL('../../../dist/main.js', import.meta.url).pathname
    const env = makeSettings(folder) as Record<string, string>
    const child = execFile(process.execPath, [main, 'backup', join(folder, 'saved.db')], { env })
    const ended = once(child, 'exit')
    while (!readdirSync(folder).some((name) => name.endsWith('.part')) && child.exitCode === null)
      await new Promise(setImmediate)
    child.kill('SIGKILL')
    await ended
    // If the copy was faster than the signal, the file is complete.
    const isThere = existsSync(join(folder, 'saved.db'))
    expect(isThere ? isWhole(join(folder, 'saved.db')) : true).toBe(true)
  })
})
