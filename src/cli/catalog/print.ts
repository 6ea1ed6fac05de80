import type { CommandContext } from '../command.ts'
import { toPlain, toPlainJson } from '../plain-text.ts'

/** Characters of `2026-05-01` and of `2026-05-01T10:30` in an ISO time. */
const DAY_CHARACTERS = 10
const MINUTE_CHARACTERS = 16

/** What a command did: `json` for scripts, `line` for people, `notes` for whoever looks. */
export type Done = Readonly<{ json: object; line: string; notes?: readonly string[] }>

/** Says what was done on standard output, and what follows from it on standard error. */
export function printDone({ io, json }: CommandContext, done: Done): void {
  io.out(json ? toPlainJson(done.json) : toPlain(done.line))
  for (const note of done.notes ?? []) io.err(`${toPlain(note)}\n`)
}

/** A list: `rows` of JSON, `lines` for people, and what to say when there is nothing. */
export type Listing = Readonly<{ rows: readonly unknown[]; lines: readonly string[]; ifNone: string }>

/** Prints a list on standard output; where it is empty, says on standard error how to fill it. */
export function printList({ io, json }: CommandContext, { rows, lines, ifNone }: Listing): void {
  if (json) return io.out(toPlainJson(rows))
  if (rows.length === 0) return io.err(`${toPlain(ifNone)}\n`)
  for (const line of lines) io.out(toPlain(line))
}

/** Rows as lines whose columns stand below one another, two spaces apart. */
export function toLines(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length)
  }
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** What belongs to the line above it. */
export function indent(text: string): string {
  return `    ${text}`
}

/** A time for scripts. */
export function toIso(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

/** A day for people, UTC. */
export function toDay(timeMs: number): string {
  return toIso(timeMs).slice(0, DAY_CHARACTERS)
}

/** A time for people, to the minute, UTC. */
export function toMinute(timeMs: number): string {
  return `${toIso(timeMs).slice(0, MINUTE_CHARACTERS).replace('T', ' ')} UTC`
}
