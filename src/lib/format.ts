export function formatNumber(count: number): string {
  return count.toLocaleString('en-US')
}

/** Format a count with its English noun: `1,236 offers`, `1 offer`. */
export function pluralize(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** Quote a text as one word of a POSIX shell. */
export function toShellWord(text: string): string {
  if (!/["$`\\!]/.test(text)) return `"${text}"`
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
