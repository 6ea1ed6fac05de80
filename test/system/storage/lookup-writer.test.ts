import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'

/** A whole program: its database is held at the first try. */
const LAST_WRITE = `
  import { createLookupWriter } from '${join(PACKAGE_FOLDER, 'dist/storage/lookup-writer.js')}'
  import { StoreError } from '${join(PACKAGE_FOLDER, 'dist/errors.js')}'
  let isHeld = true
  const writer = createLookupWriter(
    {
      async putLookups() {
        if (!isHeld) return console.log('written')
        isHeld = false
        throw new StoreError('database is locked')
      },
    },
    console.error,
  )
  writer.put({ channelId: 'c', gtin: '1', entry: { product: null, asOfMs: 1 }, bytes: 0 })
  await writer.settle()`

test('held at a stop, nothing else left in the process - it lives until they are written', () => {
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', LAST_WRITE], {
    encoding: 'utf8',
  })
  expect(output).toBe('written\n')
})
