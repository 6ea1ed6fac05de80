import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openSqlite } from '../../../src/database/sqlite.ts'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

const folder = mkdtempSync(join(tmpdir(), 'vitrine-open-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Permissions do not apply to root. A separate process loads the modules as root, then changes its user. */
describe.runIf(process.getuid?.() === 0)('user without write access', () => {
  const NOBODY = 65_534
  const body = `
    const { openSqlite } = await import(process.argv[1])
    openSqlite({ path: ':memory:', role: 'writer' }).close()
    process.setgroups([])
    process.setgid(${NOBODY})
    process.setuid(${NOBODY})
    try { openSqlite({ path: process.argv[2], role: 'writer' }) }
    catch ({ message, remedy }) { process.stdout.write(message + '. ' + remedy) }`

  function openAsNobody(path: string): string {
    const module = join(PACKAGE_FOLDER, 'dist/database/sqlite.js')
    const args = ['--input-type=module', '-e', body, module, path]
    return execFileSync(process.execPath, args, { encoding: 'utf8' })
  }

  it('folder, file or log of another user - permission denied, and the remedy names its path', () => {
    chmodSync(folder, 0o755)
    const subfolder = join(folder, 'subfolder')
    mkdirSync(subfolder)
    const path = join(subfolder, 'v.db')
    const toMessage = (target: string): string =>
      `Cannot open the database "${path}": permission denied. Give the server's user write access to ${target}.`
    expect(openAsNobody(path)).toBe(toMessage(`the folder "${subfolder}"`))
    openSqlite({ path, role: 'writer' }).close()
    chmodSync(path, 0o600)
    chownSync(subfolder, NOBODY, NOBODY)
    expect(openAsNobody(path)).toBe(toMessage(`the file "${path}"`))
    chownSync(path, NOBODY, NOBODY)
    expect(openAsNobody(path)).toBe('')
    writeFileSync(`${path}-wal`, '', { mode: 0o600 })
    expect(openAsNobody(path)).toBe(toMessage(`the file "${path}-wal"`))
  })
})
