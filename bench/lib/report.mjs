/**
 * A promise with what was measured; `holds: null` where it cannot be judged on this machine.
 * @typedef {{ text: string, measured: string, holds: boolean | null }} Judged
 * @typedef {{ title: string, columns: readonly string[], rows: readonly (readonly (string | number)[])[] }} Table
 * @typedef {{ tables: readonly Table[], promises?: readonly Judged[], notes?: readonly string[], rounds?: object, memoryMb?: Record<string, number> }} Outcome
 */

/**
 * At least so much.
 * @param {string} text
 * @param {{ value: number, limit: number, unit?: string, digits?: number }} found
 * @returns {Judged}
 */
export function judgeAtLeast(text, { value, limit, unit = '', digits = 2 }) {
  const measured = `${value.toFixed(digits)}${unit}`
  return { text: `${text}: at least ${limit.toFixed(digits)}${unit}`, measured, holds: value >= limit }
}

/**
 * At most so much.
 * @param {string} text
 * @param {{ value: number, limit: number, unit?: string, digits?: number }} found
 * @returns {Judged}
 */
export function judgeAtMost(text, { value, limit, unit = '', digits = 2 }) {
  const measured = `${value.toFixed(digits)}${unit}`
  return { text: `${text}: at most ${limit.toFixed(digits)}${unit}`, measured, holds: value <= limit }
}

/** A table in Markdown: first column words, the others numbers. */
export function formatTable({ title, columns, rows }) {
  const lines = [
    `| ${columns.join(' | ')} |`,
    `| --- |${' ---: |'.repeat(columns.length - 1)}`,
    ...rows.map((cells) => `| ${cells.join(' | ')} |`),
  ]
  return `${title}:\n\n${lines.join('\n')}\n`
}

/**
 * What a scenario found, in Markdown.
 * @param {Outcome} outcome
 */
export function formatOutcome({ tables, promises = [], notes = [], memoryMb = {} }) {
  const parts = tables.map((table) => formatTable(table))
  if (promises.length > 0) parts.push(formatPromises(promises))
  const memory = Object.entries(memoryMb).map(([what, value]) => `${what} ${Math.round(value)} MB`)
  if (memory.length > 0) parts.push(`Memory of the server: ${memory.join(', ')}.\n`)
  if (notes.length > 0) parts.push(`${notes.map((note) => `- ${note}`).join('\n')}\n`)
  return parts.join('\n')
}

function formatPromises(promises) {
  const rows = promises.map(({ text, measured, holds }) => [text, measured, toVerdict(holds)])
  const lines = rows.map((cells) => `| ${cells.join(' | ')} |`)
  return `| promise | measured | |\n| --- | ---: | --- |\n${lines.join('\n')}\n`
}

function toVerdict(holds) {
  if (holds === null) return 'not judged here'
  return holds ? 'holds' : 'does not hold'
}

/** One line on where and when. */
export function describePlace(facts) {
  const { machine, tools, takenOn } = facts
  const load = tools.wrk === undefined ? 'autocannon' : `wrk ${tools.wrk}`
  const commit = machine.commit === null ? '' : `, commit ${machine.commit}`
  return `${takenOn}, Node ${machine.node}, ${machine.cores} cores of ${machine.cpu}, Linux ${machine.kernel}, ${load}, load ${machine.loadAverage.toFixed(1)} at the start${commit}`
}

/**
 * The file with every round.
 * @param {{ run: Pick<import('./run.mjs').Run, 'options' | 'machine' | 'tools' | 'isPinned'>, takenAt: string, outcomes: Record<string, Outcome> }} found
 */
export function toJson({ run, takenAt, outcomes }) {
  const { rounds, seconds, products } = run.options
  return {
    takenAt,
    machine: run.machine,
    tools: run.tools,
    isPinned: run.isPinned,
    options: { rounds, seconds, products },
    scenarios: outcomes,
  }
}

/** Promises that were missed, over all scenarios. */
export function listMissed(outcomes) {
  return Object.entries(outcomes).flatMap(([name, { promises = [] }]) =>
    promises
      .filter(({ holds }) => holds === false)
      .map(({ text, measured }) => `${name}: ${text}; measured ${measured}`),
  )
}
