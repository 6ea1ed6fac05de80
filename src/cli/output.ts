import type { CommandContext } from './command.ts'

/** Characters of `2026-05-01` and of `2026-05-01T10:30` in an ISO time. */
const DAY_CHARACTERS = 10
const MINUTE_CHARACTERS = 16

/** Replace control characters: names come from feeds and users, and must not move the cursor of a terminal. */
export function toPlain(line: string): string {
  return line.replace(/\p{Cc}/gu, '\ufffd')
}

/** JSON without control characters that a terminal obeys: `JSON.stringify` leaves U+007F to U+009F as they are. */
export function toPlainJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Put a foreign text into a message. */
export function quote(text: string): string {
  return `"${toPlain(text)}"`
}

/** A text in a command line to copy: a POSIX shell takes it for one word. */
export function toShellWord(text: string): string {
  if (!/["$`\\!]/.test(text)) return quote(text)
  return `'${toPlain(text).replaceAll("'", String.raw`'\''`)}'`
}

/** What a command did: `json` for scripts, `line` and `hint` for people; `hint` and `notes` go to standard error. */
export type Result = Readonly<{ json: object; line: string; hint?: string; notes?: readonly string[] }>

export function printResult({ io, json }: CommandContext, result: Result): void {
  io.out(json ? toPlainJson(result.json) : toPlain(result.line))
  const hints = json || result.hint === undefined ? [] : [result.hint]
  for (const note of [...hints, ...(result.notes ?? [])]) io.err(`${toPlain(note)}\n`)
}

/** A list: `rows` of JSON, `lines` for people, and what to say on standard error when there is nothing. */
export type Listing = Readonly<{
  rows: readonly unknown[]
  lines: readonly string[]
  ifNone: string
  /** What is not listed; on standard error. */
  more?: string | undefined
}>

export function printList({ io, json }: CommandContext, { rows, lines, ifNone, more }: Listing): void {
  if (json) io.out(toPlainJson(rows))
  else if (rows.length === 0) io.err(`${toPlain(ifNone)}\n`)
  else for (const line of lines) io.out(toPlain(line))
  if (more !== undefined) io.err(`${more}\n`)
}

/** What belongs to the line above it. */
export function indent(text: string): string {
  return `    ${text}`
}

/** A time for scripts. */
export function toIso(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

export function toIsoOrNull(timeMs: number | null): string | null {
  return timeMs === null ? null : toIso(timeMs)
}

/** A day for people, UTC. */
export function toDay(timeMs: number): string {
  return toIso(timeMs).slice(0, DAY_CHARACTERS)
}

/** A time for people, to the minute, UTC. */
export function toMinute(timeMs: number): string {
  return `${toIso(timeMs).slice(0, MINUTE_CHARACTERS).replace('T', ' ')} UTC`
}
