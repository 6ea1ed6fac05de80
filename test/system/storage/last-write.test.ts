import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'

/** A whole program: another process holds its database at the first try. */
const LAST_WRITE = `
  import { openReconnectingStore } from '${join(PACKAGE_FOLDER, 'dist/storage/reconnecting-store.js')}'
  import { StoreError } from '${join(PACKAGE_FOLDER, 'dist/errors.js')}'
  let isHeld = true
  const store = await openReconnectingStore({
    open: () =>
      Promise.resolve({
        async putLookups() {
          if (!isHeld) return console.log('written')
          isHeld = false
          throw new StoreError('database is locked')
        },
        close: () => Promise.resolve(),
      }),
    onFailure: console.error,
  })
  await store.putLookups([])
  await store.close()`

test('database held at a stop, nothing else left in the process - it lives until the look-up is written', () => {
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', LAST_WRITE], {
    encoding: 'utf8',
  })
  expect(output).toBe('written\n')
})
