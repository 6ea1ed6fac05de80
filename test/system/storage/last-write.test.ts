import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'

/** A complete program whose database is locked by another process at the first attempt. */
const LAST_WRITE = `
  import { openReconnectingStore } from '${join(PACKAGE_FOLDER, 'dist/storage/reconnecting-store.js')}'
  import { StoreError } from '${join(PACKAGE_FOLDER, 'dist/errors.js')}'
  let isLocked = true
  const store = await openReconnectingStore({
    open: () =>
      Promise.resolve({
        async putLookups() {
          if (!isLocked) return console.log('written')
          isLocked = false
          throw new StoreError('database is locked')
        },
        close: () => Promise.resolve(),
      }),
    onFailure: console.error,
  })
  await store.putLookups([])
  await store.close()`

test('database locked at shutdown, no other work in the process - it exits only after the look-up is written', () => {
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', LAST_WRITE], {
    encoding: 'utf8',
  })
  expect(output).toBe('written\n')
})
