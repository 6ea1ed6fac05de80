import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

/** Path of the unit, relative to the repository. */
export const UNIT_FILE = 'deploy/systemd/vitrine.service'

/** Return the values of a setting in order; empty if the unit does not have it. */
export function readUnit(name: string): string[] {
  const lines = readFileSync(join(PACKAGE_FOLDER, UNIT_FILE), 'utf8').split('\n')
  return lines.flatMap((line) => (line.startsWith(`${name}=`) ? [line.slice(name.length + 1)] : []))
}

/** Return the system calls that `SystemCallFilter=` allows. `listing`: output of `systemd-analyze syscall-filter`. */
export function expandFilter(filters: readonly string[], listing: string): Set<string> {
  const sets = readSets(listing)
  const allowed = new Set<string>(expand('@default', sets))
  for (const filter of filters) {
    const isDenied = filter.startsWith('~')
    for (const name of filter.replace(/^~/, '').split(' ')) {
      for (const call of expand(name, sets)) {
        if (isDenied) allowed.delete(call)
        else allowed.add(call)
      }
    }
  }
  return allowed
}

/** Parse the listing: names of sets are not indented; members, which may be other sets, are. */
function readSets(listing: string): Map<string, string[]> {
  const sets = new Map<string, string[]>()
  let members: string[] = []
  for (const line of listing.split('\n')) {
    if (line.startsWith('@')) sets.set(line.trim(), (members = []))
    else if (/^ +[^#\s]/.test(line)) members.push(line.trim())
    else if (line.startsWith('#')) members = []
  }
  return sets
}

function expand(name: string, sets: ReadonlyMap<string, readonly string[]>): string[] {
  if (!name.startsWith('@')) return [name]
  const members = sets.get(name)
  if (members === undefined) throw new Error(`systemd has no set ${name}`)
  return members.flatMap((member) => expand(member, sets))
}
