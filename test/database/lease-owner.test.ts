import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { createLeaseOwner, hasOwnerExited } from '../../src/database/leases.ts'

/** The part of an owner's name that identifies its machine. */
const MACHINE = createLeaseOwner().split(' ').slice(2).join(' ')

/** The ID of a process that has just ended. */
const endedPid = spawnSync(process.execPath, ['-e', '']).pid

test('owner in this process - has not exited, and has a unique name', () => {
  expect(hasOwnerExited(createLeaseOwner())).toBe(false)
  expect(createLeaseOwner()).not.toBe(createLeaseOwner())
})

test.each([
  ['process that ended, this machine', `x ${endedPid} ${MACHINE}`, true],
  ['process that ended, another machine', `x ${endedPid} ${MACHINE}-2`, false],
  ['running process', `x ${process.pid} ${MACHINE}`, false],
  ['first process of the machine', `x 1 ${MACHINE}`, false],
  ['invalid process ID', `x -1 ${MACHINE}`, false],
  ['name of an earlier version', '0c7a4c7e-2d2f-4a8e-9d5e-0c9f6c1f0a3b', false],
  ['empty', '', false],
])('%s - has exited: %s %s', (_name, owner, hasExited) => {
  expect(hasOwnerExited(owner)).toBe(hasExited)
})
