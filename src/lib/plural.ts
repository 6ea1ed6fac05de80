export function formatNumber(count: number): string {
  return count.toLocaleString('en-US')
}

/** Format a count with its English noun: `1,236 offers`, `1 offer`. */
export function pluralize(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`
}
