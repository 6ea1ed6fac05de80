/** Quote a text as one word of a POSIX shell. */
export function toShellWord(text: string): string {
  if (!/["$`\\!]/.test(text)) return `"${text}"`
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
