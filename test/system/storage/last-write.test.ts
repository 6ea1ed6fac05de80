import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'

/** A program whose database is locked by another process at the first attempt. */
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

test('database locked during the stop - the process runs until the look-up is written', () => {
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', LAST_WRITE], {
    encoding: 'utf8',
  })
  expect(output).toBe('written\n')
})
