import { type CommandContext, print } from '../command.ts'

/** What a command did: `json` for scripts, `line` and `hint` for people; `hint` and `notes` go to standard error. */
export type CommandResult = Readonly<{ json: object; line: string; hint?: string; notes?: readonly string[] }>

export function printResult(context: CommandContext, { json, line, hint, notes = [] }: CommandResult): void {
  print(context, json, [line])
  if (hint !== undefined && !context.isJson) context.io.err(hint)
  for (const note of notes) context.io.err(note)
}

/** `rows` for scripts, `entries` for people: a line for each, and its details below it. The rest goes to standard error. */
export type Listing = Readonly<{
  rows: readonly unknown[]
  entries: readonly (readonly string[])[]
  emptyMessage: string
  /** What is not listed. */
  truncationNote?: string | undefined
}>

export function printList(
  context: CommandContext,
  { rows, entries, emptyMessage, truncationNote }: Listing,
): void {
  const { io, isJson } = context
  print(
    context,
    rows,
    entries.flatMap(([heading = '', ...details]) => [heading, ...details.map((detail) => `    ${detail}`)]),
  )
  if (rows.length === 0 && !isJson) io.err(emptyMessage)
  if (truncationNote !== undefined) io.err(truncationNote)
}

export function quote(text: string): string {
  return `"${text}"`
}

/** A text in a command line to copy: a POSIX shell takes it for one word. */
export function toShellWord(text: string): string {
  if (!/["$`\\!]/.test(text)) return quote(text)
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Characters of `2026-05-01` and of `2026-05-01T10:30` in an ISO time. */
const DAY_CHARACTERS = 10
const MINUTE_CHARACTERS = 16

/** A time for scripts. */
export function toIso(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

export function toIsoOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : toIso(timeMs)
}

/** The UTC day of an ISO time, for people. */
export function formatDay(iso: string): string {
  return iso.slice(0, DAY_CHARACTERS)
}

/** An ISO time to the minute, for people. */
export function formatMinute(iso: string): string {
  return `${iso.slice(0, MINUTE_CHARACTERS).replace('T', ' ')} UTC`
}
