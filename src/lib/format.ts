import { DAY_MS, HOUR_MS, MINUTE_MS } from '../clock.ts'

/** Format a count in English: `1,236`. */
export function formatNumber(count: number): string {
  return count.toLocaleString('en-US')
}

/** Format a count with its English noun: `1,236 offers`, `1 offer`. */
export function pluralize(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`
}

export function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** Join the first names: `A, B and 15 more`. */
export function joinFirst(names: readonly string[], max: number): string {
  const more = names.length - max
  return more > 0 ? `${names.slice(0, max).join(', ')} and ${formatNumber(more)} more` : names.join(', ')
}

/** Quote a text as one word of a POSIX shell. */
export function toShellWord(text: string): string {
  if (!/["$`\\!]/.test(text)) return `"${text}"`
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Format an age or duration in its two largest units: `3 h 20 min`. */
export function formatAge(ageMs: number): string {
  const units = [
    [Math.floor(ageMs / DAY_MS), 'd'],
    [Math.floor((ageMs % DAY_MS) / HOUR_MS), 'h'],
    [Math.floor((ageMs % HOUR_MS) / MINUTE_MS), 'min'],
  ] as const
  const first = units.findIndex(([count]) => count > 0)
  if (first === -1) return 'less than a minute'
  const shown = units.slice(first, first + 2).filter(([count]) => count > 0)
  return shown.map(([count, unit]) => `${count} ${unit}`).join(' ')
}
