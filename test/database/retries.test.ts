import { expect, test } from 'vitest'
import { retry } from '../../src/database/retries.ts'

const damage = new Error('fts5: corrupt')
const locked = new Error('database is locked')

/** Work that fails with each of these errors, and then succeeds. */
function failWith(...errors: readonly Error[]) {
  const left = [...errors]
  return (): Promise<string> => {
    const error = left.shift()
    return error === undefined ? Promise.resolve('done') : Promise.reject(error)
  }
}

test('damage that is repaired - the work runs again; damage again - no second repair', async () => {
  const repairs: unknown[] = []
  const repair = (error: unknown): Promise<boolean> => {
    repairs.push(error)
    return Promise.resolve(true)
  }
  expect(await retry(failWith(damage), { repair })).toBe('done')
  expect(repairs).toEqual([damage])
  await expect(retry(failWith(damage, damage, damage), { repair })).rejects.toBe(damage)
  expect(repairs).toEqual([damage, damage])
})

test('repair of a locked file - waits for the file, and repairs it', async () => {
  const repairs = [locked, locked]
  const repair = (): Promise<boolean> => {
    const error = repairs.shift()
    return error === undefined ? Promise.resolve(true) : Promise.reject(error)
  }
  const work = failWith(damage, damage, damage)
  expect(await retry(work, { repair, lockedMs: 60_000 })).toBe('done')
  expect(repairs).toEqual([])
  await expect(retry(failWith(damage), { repair: () => Promise.reject(locked) })).rejects.toBe(locked)
})

test('work that may not run again - fails with its first error', async () => {
  const conflict = Object.assign(new Error('could not serialize'), { code: '40001' })
  expect(await retry(failWith(conflict))).toBe('done')
  await expect(retry(failWith(conflict), { canRepeat: () => false })).rejects.toBe(conflict)
})
