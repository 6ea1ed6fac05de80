/**
 * A promise with what was measured; `holds: null` where it cannot be judged, and `why` that is where it is not the machine.
 * @typedef {{ text: string, measured: string, holds: boolean | null, why?: string }} Judged
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

/** Products of the catalog that promises speak of. */
const PROMISED_PRODUCTS = 100_000

/**
 * A promise about a catalog of 100,000 products, which a smaller one neither keeps nor breaks.
 * @param {number} products of the catalog that was measured
 * @param {Judged} judged
 * @returns {Judged}
 */
export function judgeOfMany(products, judged) {
  if (products >= PROMISED_PRODUCTS) return judged
  return { ...judged, holds: null, why: `fewer than ${PROMISED_PRODUCTS.toLocaleString('en')} products` }
}

/**
 * A ratio of servers that autocannon cannot drive to their end: it is judged only where wrk asked.
 * @param {Record<string, string>} tools
 * @param {Judged} judged
 * @returns {Judged}
 */
export function judgeByWrk(tools, judged) {
  return tools.wrk === undefined ? { ...judged, holds: null, why: 'wrk is not installed here' } : judged
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
  const rows = promises.map((judged) => [judged.text, judged.measured, toVerdict(judged)])
  const lines = rows.map((cells) => `| ${cells.join(' | ')} |`)
  return `| promise | measured | |\n| --- | ---: | --- |\n${lines.join('\n')}\n`
}

function toVerdict({ holds, why }) {
  if (holds === null) return why === undefined ? 'not judged here' : `not judged: ${why}`
  return holds ? 'holds' : 'does not hold'
}

/** One line on where and when; the commit is in the file, and not on a page that outlives branches. */
export function describePlace(facts) {
  const { machine, tools, takenOn } = facts
  const load = tools.wrk === undefined ? 'autocannon' : `wrk ${tools.wrk}`
  return `${takenOn}, Vitrine ${machine.version}, Node ${machine.node}, ${machine.cores} cores of ${machine.cpu}, Linux ${machine.kernel}, ${load}, load ${machine.loadAverage.toFixed(1)} at the start`
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
