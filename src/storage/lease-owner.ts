import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** A name for a walk of this process, by which another one on this machine can tell whether it still lives. */
export function createLeaseOwner(): string {
  return [randomUUID(), process.pid, MACHINE_ID].join(' ')
}

/**
 * What tells this machine from others: machines that were cloned, and containers, may have the same name, and a number of a
 * process means something only among those that count together.
 */
const MACHINE_ID = [
  hostname(),
  tryRead(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
  tryRead(() => readlinkSync('/proc/self/ns/pid')),
].join(' ')

/** Empty where the system has no such thing. */
function tryRead(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

/**
 * Has the owner's process on this machine ended without giving its lease back, as one that was killed? Of other machines
 * nothing is known: their leases run out.
 */
export function hasOwnerExited(owner: string): boolean {
  const [, pid = '', ...machine] = owner.split(' ')
  if (machine.join(' ') !== MACHINE_ID || !/^[1-9]\d{0,9}$/.test(pid)) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
