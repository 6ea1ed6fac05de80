import type { Delimiter } from './columns.ts'

/** A record of a table as it came, with its line end perhaps, and how many columns the table has. */
export type RawRecord = Readonly<{ raw: string; delimiter: Delimiter; columns: number }>

/**
 * Why a record may be more than one row of the file; `undefined` when it is surely one. A quote too many takes in whatever
 * comes up to the next quote, so that a product gets the price and the link of another row:
 * - a cell that begins with a quote must end with one, in front of a delimiter or the end of the line (RFC 4180)
 * - when each of its lines has delimiters enough for a row of its own, two inch marks look like a cell with line breaks
 */
export function findQuoteFault({ raw, delimiter, columns }: RawRecord): string | undefined {
  if (!raw.includes('"')) return undefined
  const text = raw.replace(/(?:\r\n|\n|\r)$/, '')
  if (!isWellQuoted(text, delimiter)) return 'a cell begins with a quote that is not closed'
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line.trim() !== '')
  const isSuspicious = lines.length > 1 && lines.every((line) => line.split(delimiter).length >= columns)
  return isSuspicious ? 'a cell in quotes reaches over lines that look like rows of their own' : undefined
}

/** Lines that a record takes in the file; without quotes it is one. */
export function countLines(raw: string): number {
  if (!raw.includes('"')) return 1
  return raw.replace(/(?:\r\n|\n|\r)$/, '').split(/\r\n|\n|\r/).length
}

function isWellQuoted(text: string, delimiter: Delimiter): boolean {
  let at = 0
  while (at < text.length) {
    if (text[at] === '"') {
      const end = findQuoteEnd(text, at + 1)
      if (end === text.length) return true
      if (end === undefined || text[end] !== delimiter) return false
      at = end + 1
    } else {
      const end = text.indexOf(delimiter, at)
      if (end === -1) return true
      at = end + 1
    }
  }
  return true
}

/** Where a cell in quotes ends, behind its last quote. Two quotes are a quote in it. */
function findQuoteEnd(text: string, start: number): number | undefined {
  for (let at = text.indexOf('"', start); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at + 1
  }
  return undefined
}

/** A cell of a table with tabs, where quotes stand around whole cells or mean nothing. */
export function unquoteCell(cell: string): string {
  if (cell.length < 2 || !cell.startsWith('"') || !cell.endsWith('"')) return cell
  const inside = cell.slice(1, -1)
  return inside.replaceAll('""', '').includes('"') ? cell : inside.replaceAll('""', '"')
}
