import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'

/** A name for a walk of this process, by which another one on this machine can tell whether it still lives. */
export function createLeaseOwner(): string {
  return [randomUUID(), process.pid, hostname()].join(' ')
}

/**
 * Has the owner's process on this machine ended without giving its lease back, as one that was killed? Of other machines
 * nothing is known: their leases run out.
 */
export function isOwnerGone(owner: string): boolean {
  const [, pid = '', ...host] = owner.split(' ')
  if (host.join(' ') !== hostname() || !/^[1-9]\d{0,9}$/.test(pid)) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
