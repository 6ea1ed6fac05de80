import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

/** A complete program whose database is locked by another process at the first attempt. */
const LAST_WRITE = `
  import { openConnection } from '${join(PACKAGE_FOLDER, 'dist/database/connection.js')}'
  let isLocked = true
  const connection = await openConnection({
    open: () => Promise.resolve({ close: () => Promise.resolve() }),
    kind: 'file',
    table: 'copies',
    failure: 'failed',
    service: { maxSilenceMs: 1000, lockedMs: 300, reopenMs: 1000, onFailure: console.error },
  })
  await connection.write(async () => {
    if (!isLocked) return console.log('written')
    isLocked = false
    throw new Error('database is locked')
  })
  await connection.close()`

test('database locked at shutdown, no other work in the process - it exits only after the look-up is written', () => {
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', LAST_WRITE], {
    encoding: 'utf8',
  })
  expect(output).toBe('written\n')
})
