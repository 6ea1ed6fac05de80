import { execFileSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { makeFolder } from '../../cli/run-cli.ts'

/** Permissions do not apply to root. A separate process loads the module as root, then changes its user. */
describe.runIf(process.getuid?.() === 0)('.env, read by another user than root', () => {
  const body = `
    const { readEnvironment } = await import(process.argv[1])
    process.setgroups([])
    process.setgid(65534)
    process.setuid(65534)
    try { process.stdout.write('locale ' + readEnvironment('', process.argv[2]).VITRINE_LOCALE) }
    catch ({ message }) { process.stdout.write(message) }`

  /** Read the settings in a current folder, with `VITRINE_LOCALE=fr` beside package.json. */
  function readAsNobody(cwd: string): string {
    const packageFolder = makeFolder()
    chmodSync(packageFolder, 0o755)
    writeFileSync(join(packageFolder, '.env'), 'VITRINE_LOCALE=fr\n')
    const args = [
      '--input-type=module',
      '-e',
      body,
      join(PACKAGE_FOLDER, 'dist/config/env.js'),
      packageFolder,
    ]
    return execFileSync(process.execPath, args, { cwd, encoding: 'utf8' })
  }

  it('current folder that the user may not search - counts as one without .env', () => {
    const folder = makeFolder()
    writeFileSync(join(folder, '.env'), 'VITRINE_LOCALE=de\n')
    expect(readAsNobody(folder)).toBe('locale fr')
  })

  it('unreadable .env in a folder that the user may search - ConfigError', () => {
    const folder = makeFolder()
    chmodSync(folder, 0o755)
    writeFileSync(join(folder, '.env'), 'VITRINE_LOCALE=de\n', { mode: 0o600 })
    expect(readAsNobody(folder)).toContain('.env in the current folder: this user may not read the file')
  })
})
