import { readFileSync, readdirSync } from 'node:fs'

/** Clock ticks a second in /proc; Linux has used this number for user programs for ever. */
const TICKS_PER_SECOND = 100

/**
 * Resident memory of a process and its peak, in MB of 1,000,000 bytes; `null` where there is no /proc.
 * @param {number} pid
 */
export function readMemory(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const read = (name) => (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1_024) / 1e6
    return { rssMb: read('VmRSS'), peakMb: read('VmHWM') }
  } catch {
    return null
  }
}

/**
 * Seconds of CPU that a process and its children have used; 0 where there is no /proc.
 * @param {number} pid
 */
export function readCpuSeconds(pid) {
  return listFamily(pid).reduce((sum, member) => sum + readOwnCpuSeconds(member), 0)
}

/**
 * The same with what children used that have ended: of a server that starts a process for each connection.
 * @param {number} pid
 */
export function readCpuSecondsOfAll(pid) {
  return listFamily(pid).reduce(
    (sum, member) => sum + readOwnCpuSeconds(member) + readEndedCpuSeconds(member),
    0,
  )
}

/**
 * Resident memory of a process and its children together, MB.
 * @param {number} pid
 */
export function readFamilyMemoryMb(pid) {
  return listFamily(pid).reduce((sum, member) => sum + (readMemory(member)?.rssMb ?? 0), 0)
}

function readOwnCpuSeconds(pid) {
  const fields = readStat(pid)
  return fields === null ? 0 : (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Of children that have ended, and of theirs. */
function readEndedCpuSeconds(pid) {
  const fields = readStat(pid)
  return fields === null ? 0 : (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND
}

/** The fields of /proc/PID/stat after the name, which may hold spaces. */
function readStat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null
  }
}

function listFamily(pid) {
  let names = []
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
  const parents = new Map(names.map((name) => [Number(name), Number(readStat(name)?.[1])]))
  const family = [pid]
  for (let index = 0; index < family.length; index += 1)
    for (const [child, parent] of parents) if (parent === family[index]) family.push(child)
  return family
}
