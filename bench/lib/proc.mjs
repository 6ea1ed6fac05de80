import { readFileSync, readdirSync } from 'node:fs'

/** Clock ticks a second in /proc on Linux. */
const TICKS_PER_SECOND = 100

/** Return the CPU seconds used by a process and its children; 0 without /proc. */
export function readCpuSeconds(pid) {
  const ticks = listProcessTree(pid).map((member) => {
    const fields = readStat(member)
    return fields === null ? 0 : Number(fields[11]) + Number(fields[12])
  })
  return ticks.reduce((sum, count) => sum + count, 0) / TICKS_PER_SECOND
}

/** Return the resident memory of a process and its children, in MB of 1,000,000 bytes. */
export function readMemoryMb(pid, field = 'VmRSS') {
  const kilobytes = listProcessTree(pid).map((member) => {
    const status = readText(`/proc/${member}/status`)
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0)
  })
  return (kilobytes.reduce((sum, count) => sum + count, 0) * 1_024) / 1e6
}

/** Return the fields of /proc/PID/stat after the name, which may contain spaces. */
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

function listProcessTree(pid) {
  let names = []
  try {
    names = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return [pid]
  }
  const parents = names.map((name) => [Number(name), Number(readStat(name)?.[1])])
  const tree = [pid]
  for (const member of tree) for (const [child, parent] of parents) if (parent === member) tree.push(child)
  return tree
}
