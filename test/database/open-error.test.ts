import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { toOpenError } from '../../src/database/failures.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { StoreError, StoreNewerError } from '../../src/errors.ts'

const folder = mkdtempSync(join(tmpdir(), 'vitrine-open-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function openAndCatch(path: string): StoreError {
  try {
    openSqlite({ path, role: 'writer' }).close()
  } catch (error) {
    if (error instanceof StoreError) return error
  }
  throw new Error('it opened')
}

/** Create an error like those of the system or SQLite. */
const failure = (fields: object): Error => Object.assign(new Error('the system message'), fields)

describe('database that cannot be opened', () => {
  it('path below a file - the message names the file', () => {
    const file = join(folder, 'plain')
    writeFileSync(file, '')
    for (const path of [join(file, 'x.db'), join(file, 'deep/er/x.db')]) {
      const { message, remedy } = openAndCatch(path)
      expect(message).toBe(`Cannot open the database "${path}": "${file}" is not a folder`)
      expect(remedy).toBe('Choose another path.')
    }
  })

  it('link to a folder or file that is missing, such as a volume - the message names both', () => {
    const [link, target] = [join(folder, 'data'), join(folder, 'unmounted')]
    symlinkSync(target, link)
    symlinkSync(join(target, 'x.db'), join(folder, 'link.db'))
    for (const [path, from, to] of [
      [join(link, 'x.db'), link, target],
      [join(link, 'deep/er/x.db'), link, target],
      [join(folder, 'link.db'), join(folder, 'link.db'), join(target, 'x.db')],
    ] as const)
      expect(openAndCatch(path)).toMatchObject({
        message: `Cannot open the database "${path}": "${from}" is a link to "${to}", which does not exist`,
        remedy: 'Mount the volume of its target, or create the target.',
      })
  })

  it('path of a folder - the message reports it', () => {
    expect(openAndCatch(folder)).toMatchObject({
      message: `Cannot open the database "${folder}": it is a folder`,
      remedy: 'Choose the path of a file.',
    })
  })

  it('file that is not a database - the message reports it', () => {
    const path = join(folder, 'text.db')
    writeFileSync(path, 'this is certainly no database. '.repeat(100))
    expect(openAndCatch(path)).toMatchObject({
      message: `Cannot open the database "${path}": the file is not a database`,
      remedy: expect.stringContaining('move the file away'),
    })
  })

  it.each([
    [{ code: 'EROFS' }, 'the file system is read-only', 'Mount it with write access'],
    [{ code: 'ENOSPC' }, 'the disk is full', `Free space on the disk of the folder "${folder}".`],
    [{ code: 'ERR_SQLITE_ERROR', errcode: 13 }, 'the disk is full', 'Free space'],
    [{ code: 'ERR_SQLITE_ERROR', errcode: 267 }, 'the file is damaged', 'Restore a backup'],
    [
      { code: 'EPERM' },
      'permission denied',
      `Give the server's user write access to the folder "${folder}".`,
    ],
  ])('%o - %s', (fields, reason, remedy) => {
    const path = join(folder, 'new/new.db')
    const wrapped = new StoreError('a migration failed', { cause: failure(fields) })
    for (const error of [failure(fields), wrapped]) {
      expect(toOpenError(path, error)).toMatchObject({
        message: `Cannot open the database "${path}": ${reason}`,
        remedy: expect.stringContaining(remedy),
        cause: error,
      })
    }
  })

  it('unknown reason - the message of the system; a more specific error is returned unchanged', () => {
    const path = join(folder, 'new.db')
    expect(toOpenError(path, failure({ code: 'ERR_SQLITE_ERROR', errcode: 5 }))).toMatchObject({
      message: `Cannot open the database "${path}": the system message`,
      remedy: null,
    })
    const newer = new StoreNewerError('newer')
    expect(toOpenError(path, newer)).toBe(newer)
  })
})
