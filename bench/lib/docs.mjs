import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { describePlace, formatOutcome } from './report.mjs'

/** Where figures stand, unless their scenario names another page. */
const USUAL_PAGE = 'docs/performance.md'

/**
 * Puts what a scenario measured between its markers: one place for each scenario and major version of Node, on its page.
 * @param {object} facts machine, programs and day
 * @param {{ name: string, page?: string, isSimulated?: boolean }} scenario
 * @param {import('./report.mjs').Outcome} outcome
 */
export async function writeDocs(facts, scenario, outcome) {
  const path = fileURLToPath(new URL(`../../${findPage(scenario)}`, import.meta.url))
  const figures = formatOutcome(outcome)
  const text = scenario.isSimulated === true ? figures : `${describePlace(facts)}.\n\n${figures}`
  const major = /\d+/.exec(facts.machine.node)[0]
  const page = replaceFigures(readFileSync(path, 'utf8'), namePlace(scenario, major), text)
  writeFileSync(path, await format(page, { ...(await resolveConfig(path)), parser: 'markdown' }))
}

/** The page of a scenario's figures. */
export function findPage({ page = USUAL_PAGE }) {
  return page
}

/** The place of a scenario's figures on its page: what is simulated is the same on every machine and Node. */
export function namePlace({ name, isSimulated = false }, major) {
  return isSimulated ? name : `${name} ${major}`
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
  if (start === -1 || end === -1) throw new Error(`the page has no place "${begin}"`)
  return `${page.slice(0, start)}${begin}\n\n${text.trim()}\n\n${page.slice(end)}`
}
