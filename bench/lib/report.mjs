/**
 * A target and what was measured; `holds: null` where it is not judged.
 * @typedef {{ text: string, measured: string, holds: boolean | null }} Judged
 * @typedef {{ title: string, columns: readonly string[], rows: readonly (readonly (string | number)[])[] }} Table
 * @typedef {{ tables: readonly Table[], targets: readonly Judged[], notes?: readonly string[], rounds?: object }} Outcome
 */

/** Products of the catalog that targets speak of; with fewer they are not judged. */
const TARGET_PRODUCTS = 100_000

/**
 * Judge a number, or the median of a ratio's rounds.
 * @param {string} text
 * @param {number | { median: number, min: number, max: number }} value
 * @param {{ atLeast?: number, atMost?: number, unit?: string, digits?: number, products?: number }} target
 *   `products`: of the catalog that was measured, where that matters
 * @returns {Judged}
 */
export function judge(text, value, { atLeast, atMost, unit = '', digits = 2, products = TARGET_PRODUCTS }) {
  const { median, min, max } = typeof value === 'number' ? { median: value, min: value, max: value } : value
  const format = (number) => `${number.toFixed(digits)}${unit}`
  const range = min === max ? '' : ` (${min.toFixed(digits)}–${max.toFixed(digits)})`
  const limit = atLeast === undefined ? `at most ${format(atMost)}` : `at least ${format(atLeast)}`
  const holds = atLeast === undefined ? median <= atMost : median >= atLeast
  return {
    text: `${text}: ${limit}`,
    measured: `${format(median)}${range}`,
    holds: products < TARGET_PRODUCTS ? null : holds,
  }
}

/** What a scenario found, in Markdown. */
export function formatOutcome({ tables, targets, notes = [] }) {
  const parts = tables.map(({ title, columns, rows }) => `${title}:\n\n${formatTable(columns, rows)}`)
  const judged = targets.map(({ text, measured, holds }) => [text, measured, VERDICTS[String(holds)]])
  if (judged.length > 0) parts.push(formatTable(['target', 'measured', ''], judged))
  if (notes.length > 0) parts.push(notes.map((note) => `- ${note}\n`).join(''))
  return parts.join('\n')
}

const VERDICTS = { true: 'holds', false: 'missed', null: 'not judged' }

const toLine = (cells) => `| ${cells.join(' | ')} |\n`

function formatTable(columns, rows) {
  return `${toLine(columns)}| --- |${' ---: |'.repeat(columns.length - 1)}\n${rows.map(toLine).join('')}`
}

/** One line on where and when. */
export function describePlace({ vitrine, node, cores, cpu, kernel, load }, day) {
  return `${day}, Vitrine ${vitrine}, Node ${node}, ${cores} cores of ${cpu}, Linux ${kernel}, load ${load.toFixed(1)} at the start`
}
