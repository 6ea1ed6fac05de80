import { readFileSync, readdirSync } from 'node:fs'

/** Clock ticks a second in /proc on Linux. */
const TICKS_PER_SECOND = 100

/** Seconds of CPU that a process and its children have used; 0 where there is no /proc. */
export function readCpuSeconds(pid) {
  const ticks = listFamily(pid).map((member) => {
    const fields = readStat(member)
    return fields === null ? 0 : Number(fields[11]) + Number(fields[12])
  })
  return ticks.reduce((sum, count) => sum + count, 0) / TICKS_PER_SECOND
}

/** Resident memory of a process and its children, MB of 1,000,000 bytes. */
export function readMemoryMb(pid, field = 'VmRSS') {
  const kilobytes = listFamily(pid).map((member) => {
    const status = readText(`/proc/${member}/status`)
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0)
  })
  return (kilobytes.reduce((sum, count) => sum + count, 0) * 1_024) / 1e6
}

/** The fields of /proc/PID/stat after the name, which may hold spaces. */
function readStat(pid) {
  const text = readText(`/proc/${pid}/stat`)
  return text === '' ? null : text.slice(text.lastIndexOf(')') + 2).split(' ')
}

function readText(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function listFamily(pid) {
  let names = []
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return [pid]
  }
  const parents = names.map((name) => [Number(name), Number(readStat(name)?.[1])])
  const family = [pid]
  for (const member of family)
    for (const [child, parent] of parents) if (parent === member) family.push(child)
  return family
}
