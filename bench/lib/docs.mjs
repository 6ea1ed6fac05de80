import { readFileSync, writeFileSync } from 'node:fs'
import { format, resolveConfig } from 'prettier'
import { describePlace, formatOutcome } from './report.mjs'

const PAGE = new URL('../../docs/performance.md', import.meta.url)

/**
 * Puts what was measured between the markers of docs/performance.md: one place for each scenario and major version of Node.
 * A scenario that was not measured keeps its figures.
 */
export async function writeDocs(facts, outcomes) {
  const major = /\d+/.exec(facts.machine.node)[0]
  let page = readFileSync(PAGE, 'utf8')
  for (const [name, outcome] of Object.entries(outcomes)) {
    const text = `${describePlace(facts)}.\n\n${formatOutcome(outcome)}`
    page = replaceFigures(page, `${name} ${major}`, text)
  }
  writeFileSync(PAGE, await format(page, { ...(await resolveConfig(PAGE.pathname)), parser: 'markdown' }))
}

/**
 * The page with other figures between `<!-- figures: PLACE -->` and `<!-- end -->`.
 * @param {string} page
 * @param {string} place scenario and major version
 * @param {string} text
 */
export function replaceFigures(page, place, text) {
  const begin = `<!-- figures: ${place} -->`
  const start = page.indexOf(begin)
  const end = page.indexOf('<!-- end -->', start)
  if (start === -1 || end === -1) throw new Error(`docs/performance.md has no place "${begin}"`)
  return `${page.slice(0, start)}${begin}\n\n${text.trim()}\n\n${page.slice(end)}`
}
