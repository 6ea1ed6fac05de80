import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Create a unique owner name from which other processes on this machine can tell whether this process is running. */
export function createLeaseOwner(): string {
  return [randomUUID(), process.pid, MACHINE_ID].join(' ')
}

/** Host name, boot id and PID namespace: cloned machines and containers can share a name, and PIDs are unique per namespace only. */
const MACHINE_ID = [
  hostname(),
  tryRead(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
  tryRead(() => readlinkSync('/proc/self/ns/pid')),
].join(' ')

/** Return the text, or an empty string when the system does not have that file. */
function tryRead(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

/** `true` when the owner ran on this machine and its process has exited. Leases of other machines must expire instead. */
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
