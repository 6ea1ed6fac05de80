/**
 * A target and its measured value; `isMet: null` if it was not checked.
 * @typedef {{ text: string, measured: string, isMet: boolean | null }} CheckedTarget
 * @typedef {{ title: string, columns: readonly string[], rows: readonly (readonly (string | number)[])[] }} Table
 * @typedef {{ tables: readonly Table[], targets: readonly CheckedTarget[], notes?: readonly string[], rounds?: object }} Outcome
 */

/** Targets that depend on the size of the catalog are checked from this many products on. */
const TARGET_PRODUCTS = 100_000

/**
 * Compare a number, or the median of a ratio's rounds, with its target.
 * @param {string} text
 * @param {number | { median: number, min: number, max: number }} value
 * @param {{ atLeast?: number, atMost?: number, unit?: string, digits?: number, products?: number }} target
 *   `products`: products of the measured catalog, if the target depends on it
 * @returns {CheckedTarget}
 */
export function checkTarget(
  text,
  value,
  { atLeast, atMost, unit = '', digits = 2, products = TARGET_PRODUCTS },
) {
  const { median, min, max } = typeof value === 'number' ? { median: value, min: value, max: value } : value
  const format = (number) => `${number.toFixed(digits)}${unit}`
  const range = min === max ? '' : ` (${min.toFixed(digits)}–${max.toFixed(digits)})`
  const limit = atLeast === undefined ? `at most ${format(atMost)}` : `at least ${format(atLeast)}`
  const isMet = atLeast === undefined ? median <= atMost : median >= atLeast
  return {
    text: `${text}: ${limit}`,
    measured: `${format(median)}${range}`,
    isMet: products < TARGET_PRODUCTS ? null : isMet,
  }
}

/** Format the outcome of a scenario as Markdown. */
export function formatOutcome({ tables, targets, notes = [] }) {
  const parts = tables.map(({ title, columns, rows }) => `${title}:\n\n${formatTable(columns, rows)}`)
  const checked = targets.map(({ text, measured, isMet }) => [text, measured, RESULTS[String(isMet)]])
  if (checked.length > 0) parts.push(formatTable(['target', 'measured', ''], checked))
  if (notes.length > 0) parts.push(notes.map((note) => `- ${note}\n`).join(''))
  return parts.join('\n')
}

const RESULTS = { true: 'met', false: 'missed', null: 'not checked' }

const toLine = (cells) => `| ${cells.join(' | ')} |\n`

function formatTable(columns, rows) {
  return `${toLine(columns)}| --- |${' ---: |'.repeat(columns.length - 1)}\n${rows.map(toLine).join('')}`
}

/** Describe day and machine in one line. */
export function describeEnvironment({ vitrine, node, cores, cpu, kernel, load }, day) {
  return `${day}, Vitrine ${vitrine}, Node ${node}, ${cores} cores of ${cpu}, Linux ${kernel}, load ${load.toFixed(1)} at the start`
}
