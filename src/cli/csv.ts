import { DAY_MS } from '../clock.ts'

/** A spreadsheet runs a cell that begins with one of these as a formula; an apostrophe before it prevents that. */
export const FORMULA_START: RegExp = /^'*\s*[=+\-@＝＋－＠]/

/** Write a text as a CSV cell that a spreadsheet does not run. */
export function toCsvCell(text: string): string {
  const safe = FORMULA_START.test(text) ? `'${text}` : text
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const ISO_DAY_CHARACTERS = 10

/** Write a day, counted from 1970-01-01, such as `2026-01-31`. */
export function formatIsoDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, ISO_DAY_CHARACTERS)
}
