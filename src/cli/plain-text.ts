/** Names come from feeds and from whoever types: nothing in them moves the cursor of a terminal. */
export function toPlain(line: string): string {
  return line.replace(/\p{Cc}/gu, '\ufffd')
}

/** The same of a text of several lines of our own. */
export function toPlainLines(text: string): string {
  return text.split('\n').map(toPlain).join('\n')
}

/** JSON in which a terminal finds nothing to obey: `JSON.stringify` leaves U+007F to U+009F as they are. */
export function toPlainJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** A text of somebody else's in a message: in quotes, without anything that a terminal would obey. */
export function quote(text: string): string {
  return `"${toPlain(text)}"`
}

/** A text in a command line to copy: whatever is in it, a POSIX shell takes it for one word. */
export function toShellWord(text: string): string {
  if (!/["$`\\!]/.test(text)) return quote(text)
  return `'${toPlain(text).replaceAll("'", String.raw`'\''`)}'`
}
