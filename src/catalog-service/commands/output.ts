import { type CommandContext, print } from '../../command.ts'

/** Result of a command: `json` for scripts, `line` and `hint` for people; `hint` and `notes` go to standard error. */
export type CommandResult = Readonly<{ json: object; line: string; hint?: string; notes?: readonly string[] }>

export function printResult(context: CommandContext, { json, line, hint, notes = [] }: CommandResult): void {
  print(context, json, [line])
  if (hint !== undefined && !context.isJson) context.io.err(hint)
  for (const note of notes) context.io.err(note)
}

/** `rows` for scripts; `entries` for people: a line followed by its details. Messages go to standard error. */
export type Listing = Readonly<{
  rows: readonly unknown[]
  entries: readonly (readonly string[])[]
  emptyMessage: string
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

const DAY_CHARACTERS = 10
const MINUTE_CHARACTERS = 16

export function toIso(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

export function toIsoOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : toIso(timeMs)
}

export function formatDay(iso: string): string {
  return iso.slice(0, DAY_CHARACTERS)
}

export function formatMinute(iso: string): string {
  return `${iso.slice(0, MINUTE_CHARACTERS).replace('T', ' ')} UTC`
}
